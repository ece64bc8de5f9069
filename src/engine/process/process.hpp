#pragma once

#include <mutex>
#include <string>

/// What all engines of a process share: locks, signal handlers, and what becomes of them in a forked child.
/// docs/processes.md has the rules for users.
namespace weft::engine {

// Held over a fork(), so that the child finds them free. A thread that takes several takes them in this
// order.
std::mutex& default_lock() noexcept; ///< guards the making of the default runtime
std::mutex& machine_lock() noexcept; ///< guards reading the machine: its libraries have locks
std::mutex& process_lock() noexcept; ///< guards what all engines share

/// The number of forks between the process that loaded the library and this one. An object that was made
/// under another number has no threads here.
unsigned fork_count() noexcept;

/// A name that no other caller of this process was given: `file`, with the number of this process in place of
/// %p. If that name is taken, it gets a number before the suffix. "" and "-" are returned as they are, every
/// time. Called under process_lock().
std::string unique_file_name(std::string file);

/// An engine's membership in the process; it lives as long as the engine's threads. The first member installs
/// the report of stacks that overflow, and the last one removes it.
class membership {
public:
    membership();
    ~membership();
    membership(const membership&) = delete;
    membership& operator=(const membership&) = delete;

    /// False in a child that was forked after this object was made.
    bool belongs_to_this_process() const noexcept { return born_in_ == fork_count(); }

private:
    const unsigned born_in_;
};

} // namespace weft::engine
