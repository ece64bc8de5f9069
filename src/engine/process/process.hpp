#pragma once

#include <atomic>
#include <mutex>
#include <string>

/// What all engines of a process share: its signal handlers, and what becomes of them in a forked child.
/// docs/processes.md has the rules for users.
namespace weft::engine {

// Held over a fork(), so that the child finds them free. Who takes several takes them in this order.
std::mutex& default_lock() noexcept; ///< the making of the default runtime
std::mutex& machine_lock() noexcept; ///< reading the machine: libraries that do it have locks of their own
std::mutex& process_lock() noexcept; ///< what is shared by all engines

/// How often this process was forked off since the library was loaded: what was made under another number has
/// no threads here.
unsigned fork_count() noexcept;

/// `file`, with this process's number for %p, or for who asks for one that was given away already, the same
/// with a number before the suffix; "" and "-" are for all. Under process_lock().
std::string unique_file_name(std::string file);

/// An engine's membership. The first member installs the report of stacks that overflow, the last one takes
/// it away: it lives as long as the engine's threads.
class membership {
public:
    membership();
    ~membership();
    membership(const membership&) = delete;
    membership& operator=(const membership&) = delete;

    /// False in a child that was forked off since.
    bool of_this_process() const noexcept { return born_in_ == fork_count(); }

private:
    const unsigned born_in_;
};

} // namespace weft::engine
