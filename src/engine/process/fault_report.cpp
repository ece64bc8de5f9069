#include "engine/process/fault_report.hpp"

#include "engine/process/registers.hpp"
#include "engine/process/signal_claim.hpp"
#include "engine/worker/engine.hpp"

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace weft::engine {

namespace {

constinit signal_claim segv(SIGSEGV), bus(SIGBUS);

void say(const char* text) noexcept { static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text))); }

/// Whether the kernel has found no room below the stack pointer for the frame of another signal, whose handler runs on the
/// stack of the code: it sends this signal instead, without an address.
bool has_no_room_for_a_signal(const stack& memory, const siginfo_t& info, const ucontext_t& at) noexcept {
    const auto* const top = reinterpret_cast<const std::byte*>(stack_pointer(at));
    return info.si_code == SI_KERNEL && !info.si_addr && memory.limit() <= top && top < memory.top() &&
           top < memory.limit() + signal_frame_bytes();
}

void handle(int signal, siginfo_t* info, void* context) {
    const worker* const w = impl::hot_self();
    const bool is_on_fiber = w && w->current && w->current->memory.base;
    const bool lacks_room = is_on_fiber && has_no_room_for_a_signal(w->current->memory, *info,
                                                                    *static_cast<const ucontext_t*>(context));
    if (lacks_room || (is_on_fiber && w->current->memory.guards(info->si_addr))) {
        char number[32];
        std::snprintf(number, sizeof number, "%zu", w->engine.fibers.stack_bytes());
        say("weft: stack overflow in a task; given: stack_bytes = ");
        say(number);
        say("; allowed: a larger WEFT_STACK or runtime_options::stack_bytes\n");
    }
    if ((signal == SIGSEGV ? segv : bus).forward(info, context)) return;
    std::signal(signal, SIG_DFL);       // the access is repeated and ends the program
    if (lacks_room) std::raise(signal); // there was none
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

void* signal_stack_memory::get() noexcept {
    if (memory_) return memory_;
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) memory_ = p;
    return memory_;
}

signal_stack_memory::~signal_stack_memory() {
    if (memory_) munmap(memory_, bytes);
}

signal_stack::signal_stack(signal_stack_memory& in) noexcept {
    stack_t own{};
    own.ss_sp = in.get();
    own.ss_size = signal_stack_memory::bytes;
    is_set_ = own.ss_sp && sigaltstack(&own, &before_) == 0;
}

signal_stack::~signal_stack() {
    if (is_set_) sigaltstack(&before_, nullptr);
}

} // namespace weft::engine
