#include "engine/threads/thread_engine.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace weft::engine {

namespace {

struct sigaction segv_before, bus_before;

void say(const char* text) noexcept { static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text))); }

void handle(int signal, siginfo_t* info, void* context) {
    if (worker* w = impl::hot_self();
        w && w->current && w->current->memory.base && w->current->memory.guards(info->si_addr)) {
        char number[32];
        std::snprintf(number, sizeof number, "%zu", w->eng.fibers.stack_bytes());
        say("weft: stack overflow in a task; given: stack_bytes = ");
        say(number);
        say("; allowed: a larger WEFT_STACK or runtime_options::stack_bytes\n");
    }
    const struct sigaction& before = signal == SIGSEGV ? segv_before : bus_before;
    if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
    std::signal(signal, SIG_DFL); // the access is tried again and ends the program
}

} // namespace

void install_fault_report() {
    static const bool once = [] {
        struct sigaction action{};
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        sigaction(SIGSEGV, &action, &segv_before);
        sigaction(SIGBUS, &action, &bus_before);
        return true;
    }();
    static_cast<void>(once);
}

signal_stack::signal_stack() {
    stack_t now{};
    if (sigaltstack(nullptr, &now) == 0 && !(now.ss_flags & SS_DISABLE))
        return; // a sanitizer's: ours is not needed
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
