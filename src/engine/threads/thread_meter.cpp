#include "engine/threads/thread_meter.hpp"

#include "engine/threads/thread_worker.hpp"
#include "engine/worker/own_time.hpp"

#include <cstddef>
#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>

namespace weft::engine {

constexpr std::uintptr_t line_bytes = 64;

void thread_meter::user_code_ends(worker& of) noexcept {
    auto& w = static_cast<thread_worker&>(of);
    own_time_ends(w);
    if (w.counter) w.current->running->counts_ += w.counter->read() - w.counted_before;
}

void thread_meter::user_code_begins(worker& of) noexcept {
    auto& w = static_cast<thread_worker&>(of);
    if (w.counter) w.counted_before = w.counter->read();
    own_time_begins(w);
}

void thread_meter::declare_cost(worker& w, std::uint64_t cycles, work) noexcept {
    if (w.counts_declared) w.count.declared_cycles.add(cycles);
}

void thread_meter::declare_data(worker& w, const void* data, std::size_t bytes, access) noexcept {
    if (w.counts_declared) w.count.declared_bytes.add(bytes);
    if (misses_from != count_source::declared || bytes == 0) return;
    const auto first = reinterpret_cast<std::uintptr_t>(data) / line_bytes;
    const auto last = (reinterpret_cast<std::uintptr_t>(data) + bytes - 1) / line_bytes;
    w.current->running->counts_.misses += last - first + 1;
}

int thread_meter::home_of(const void* data, std::size_t) const {
    if (on_.memory_nodes().size() == 1) return 0;
    if (on_.is_modelled()) return -1; // the nodes are not those of this computer
    void* page = const_cast<void*>(data);
    int node = -1;
    if (syscall(SYS_move_pages, 0, 1UL, &page, nullptr, &node, 0) != 0) return -1;
    for (std::size_t i = 0; i < on_.memory_nodes().size(); ++i) // negative: the page is not there yet
        if (on_.memory_nodes()[i].os_index == node) return static_cast<int>(i);
    return -1;
}

} // namespace weft::engine
