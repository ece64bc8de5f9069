#pragma once

#include <csignal>

namespace weft::engine {

/// The signal of the tick (engine/threads/preemption). A real-time signal: the program keeps the classic ones.
inline int tick_signal() noexcept { return SIGRTMIN + 5; }

enum class handler_stack : bool { alternate, of_the_code };

/// The action of one signal: taken while engines need it, given back after the last engine. take() and
/// give_back() are called under one lock; the handler calls forward().
class signal_claim {
public:
    using handler_fn = void (*)(int, siginfo_t*, void*);

    explicit constexpr signal_claim(int signal) noexcept : signal_(signal) {}

    void take(handler_fn handler, int flags, handler_stack where = handler_stack::alternate) noexcept {
        if (taken_) return;
        sigaction(signal_, nullptr, &before_); // first: the handler may run as soon as it is there
        struct sigaction action{};
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO | flags;
        sigemptyset(&action.sa_mask);
        if (where == handler_stack::alternate) {
            action.sa_flags |= SA_ONSTACK;
            sigaddset(&action.sa_mask,
                      tick_signal()); // a task cannot be left while its thread is on that stack
        }
        taken_ = sigaction(signal_, &action, nullptr) == 0;
        handler_ = handler;
    }

    /// Restores the earlier action. If the program has installed another handler on top, that handler may
    /// call ours. Then ours stays, counts as taken, and is not installed a second time, or the two would call
    /// each other for ever.
    void give_back() noexcept {
        if (!taken_) return;
        struct sigaction now{};
        sigaction(signal_, nullptr, &now);
        if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != handler_) return;
        sigaction(signal_, &before_, nullptr);
        taken_ = false;
    }

    /// Calls the handler that was there before; false if there was none.
    bool forward(siginfo_t* info, void* context) const {
        if (before_.sa_flags & SA_SIGINFO) {
            before_.sa_sigaction(signal_, info, context);
        } else if (before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN) {
            before_.sa_handler(signal_);
        } else {
            return false;
        }
        return true;
    }

private:
    const int signal_;
    bool taken_ = false;
    handler_fn handler_ = nullptr;
    struct sigaction before_{};
};

} // namespace weft::engine
