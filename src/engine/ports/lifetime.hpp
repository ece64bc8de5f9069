#pragma once

namespace weft::engine {

/// An engine as its process sees it: api/runtime.cpp makes and ends engines.
struct lifetime {
    /// False in a process that a fork() has made without this engine's threads.
    virtual bool of_this_process() const noexcept = 0;
    /// At the end of the process, when the code may be unloaded: ends the threads, unless one of them stays busy. No
    /// memory is freed and no destructor runs: other threads may still use this engine, in vain.
    virtual void end_threads_at_exit() noexcept = 0;
    /// Returns when nothing is left of earlier roots, where that could be seen in the figures of the next one.
    virtual void settle() {}

protected:
    ~lifetime() = default;
};

} // namespace weft::engine
