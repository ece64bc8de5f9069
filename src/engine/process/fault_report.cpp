#include "engine/process/fault_report.hpp"

#include "engine/process/signal_claim.hpp"
#include "engine/worker/engine.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace weft::engine {

namespace {

constinit signal_claim segv(SIGSEGV), bus(SIGBUS);

void say(const char* text) noexcept { static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text))); }

void handle(int signal, siginfo_t* info, void* context) {
    if (worker* w = impl::hot_self();
        w && w->current && w->current->memory.base && w->current->memory.guards(info->si_addr)) {
        char number[32];
        std::snprintf(number, sizeof number, "%zu", w->engine.fibers.stack_bytes());
        say("weft: stack overflow in a task; given: stack_bytes = ");
        say(number);
        say("; allowed: a larger WEFT_STACK or runtime_options::stack_bytes\n");
    }
    if ((signal == SIGSEGV ? segv : bus).forward(info, context)) return;
    std::signal(signal, SIG_DFL); // the access is repeated and ends the program
}

} // namespace

void install_fault_report() noexcept {
    segv.take(handle, 0);
    bus.take(handle, 0);
}

void give_back_fault_report() noexcept {
    segv.give_back();
    bus.give_back();
}

signal_stack::signal_stack() {
    stack_t now{};
    if (sigaltstack(nullptr, &now) == 0 && !(now.ss_flags & SS_DISABLE))
        return; // a sanitizer has set one, so none of ours is needed
    bytes_ = 64 * 1024;
    void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return; // handlers then run on the fibers' stacks, which have room for a signal frame
    memory_ = p;
    stack_t own{};
    own.ss_sp = p;
    own.ss_size = bytes_;
    sigaltstack(&own, nullptr);
}

signal_stack::~signal_stack() {
    if (!memory_) return;
    stack_t off{};
    off.ss_flags = SS_DISABLE;
    sigaltstack(&off, nullptr);
    munmap(memory_, bytes_);
}

} // namespace weft::engine
