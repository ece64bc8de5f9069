#pragma once

namespace weft::engine {

/// How an engine belongs to its process, and how it ends.
struct lifetime {
    /// False in a child of fork(), which has none of this engine's threads.
    virtual bool belongs_to_this_process() const noexcept = 0;
    /// Ends the threads at the end of the process, when the code may be unloaded, unless one of them stays
    /// busy. Frees no memory and runs no destructor, since other threads may still call this engine, which
    /// runs nothing for them.
    virtual void end_threads_at_exit() noexcept = 0;
    /// Waits until nothing is left of earlier roots that the figures of the next root could show.
    virtual void wait_until_quiescent() {}

protected:
    ~lifetime() = default;
};

} // namespace weft::engine
