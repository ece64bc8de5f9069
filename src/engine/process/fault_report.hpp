#pragma once

#include <cstddef>

namespace weft::engine {

/// Installs the handler that reports a stack which a task has used up. Other faults go to the handler that
/// was there before. Both functions are called under process_lock().
void install_fault_report() noexcept;
void give_back_fault_report() noexcept;

/// Gives the calling thread a signal stack for as long as the object lives.
class signal_stack {
public:
    signal_stack();
    ~signal_stack();
    signal_stack(const signal_stack&) = delete;
    signal_stack& operator=(const signal_stack&) = delete;

private:
    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace weft::engine
