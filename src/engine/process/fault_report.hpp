#pragma once

#include <csignal>
#include <cstddef>

namespace weft::engine {

/// Installs the handler that reports a stack which a task has used up. Other faults go to the handler that
/// was there before. Both functions are called under process_lock().
void install_fault_report() noexcept;
void give_back_fault_report() noexcept;

/// Room for signal handlers, mapped when it is first asked for.
class signal_stack_memory {
public:
    signal_stack_memory() noexcept = default;
    ~signal_stack_memory();
    signal_stack_memory(const signal_stack_memory&) = delete;
    signal_stack_memory& operator=(const signal_stack_memory&) = delete;

    static constexpr std::size_t bytes = 64 * 1024;
    void*
    get() noexcept; ///< null if there is none: handlers then run on the fibers' stacks, which have room for one

private:
    void* memory_ = nullptr;
};

/// Lets signal handlers run there in the calling thread for as long as the object lives; then as before.
class signal_stack {
public:
    explicit signal_stack(signal_stack_memory&) noexcept;
    ~signal_stack();
    signal_stack(const signal_stack&) = delete;
    signal_stack& operator=(const signal_stack&) = delete;

private:
    bool is_set_ = false;
    stack_t before_{};
};

} // namespace weft::engine
