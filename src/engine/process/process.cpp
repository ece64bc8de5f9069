#include "engine/process/process.hpp"

#include "engine/process/fault_report.hpp"

#include <fmt/format.h>

#include <atomic>
#include <set>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace weft::engine {

namespace {

// None of these has a destructor, because threads may run until the very end of the process.
constinit std::mutex making, reading, lock; // taken in this order
constinit int members = 0;                  // guarded by lock
constinit std::atomic<unsigned> forks{0};

void before_fork() {
    making.lock();
    reading.lock();
    lock.lock();
}

void after_fork_in_parent() {
    lock.unlock();
    reading.unlock();
    making.unlock();
}

void after_fork_in_child() {
    // The child has one thread, the one that called fork(), and no engine.
    forks.fetch_add(1, std::memory_order_relaxed);
    members = 0;
    give_back_fault_report();
    after_fork_in_parent();
}

/// Done when the library is loaded, so that no fork() can come in the middle of it; dlclose() undoes it.
[[maybe_unused]] const int registered =
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

} // namespace

std::mutex& process_lock() noexcept { return lock; }
std::mutex& default_lock() noexcept { return making; }
std::mutex& machine_lock() noexcept { return reading; }

// relaxed: written only in a child that has no other thread yet
unsigned fork_count() noexcept { return forks.load(std::memory_order_relaxed); }

std::string unique_file_name(std::string file) {
    static std::set<std::string> taken;
    if (file.empty() || file == "-") return file;
    if (const auto at = file.find("%p"); at != std::string::npos)
        file.replace(at, 2, std::to_string(getpid()));
    const std::size_t dot = file.rfind('.');
    const bool has_suffix = dot != std::string::npos && file.find('/', dot) == std::string::npos && dot > 0;
    std::string name = file;
    for (int n = 2; !taken.insert(name).second; ++n) {
        name = file;
        name.insert(has_suffix ? dot : file.size(), fmt::format(".{}", n));
    }
    return name;
}

membership::membership() : born_in_(fork_count()) {
    const std::lock_guard guard(lock);
    if (members++ > 0) return;
    install_fault_report();
}

membership::~membership() {
    const std::lock_guard guard(lock);
    if (--members > 0) return;
    give_back_fault_report();
}

} // namespace weft::engine
