#include "trace/write/log.hpp"

#include "queue/page_memory.hpp"
#include "queue/sync.hpp"
#include "trace/write/event_sink.hpp"
#include "trace/write/recorder.hpp"

#include <new>

namespace weft::trace {

log::log(recorder& of, std::uint16_t stream, event_sink* sink)
    : of_(of)
    , stream_(stream)
    , sink_(sink)
    , slots_(static_cast<ring::slot*>(queue::page_memory::allocate(capacity * sizeof(ring::slot))))
    , events_(slots_, capacity) {
    if (!slots_) throw std::bad_alloc(); // the pages are zero, which is a valid record
}

log::~log() { queue::page_memory::release(slots_, capacity * sizeof(ring::slot)); }

void log::push(std::uint64_t at, kind k, std::uint64_t a, std::uint64_t b, std::uint32_t n,
               std::uint8_t what) noexcept {
    events_.push({at, a, b, n, k, what, stream_});
}

std::uint64_t log::now() const noexcept { return of_.ticks(); }

void log::note_at(std::uint64_t at, kind k, std::uint64_t a, std::uint64_t b, std::uint32_t n,
                  std::uint8_t what) noexcept {
    if (sink_) {
        if (before_ && event_sink::follows(k)) [[unlikely]]
            before_(before_of_);
        const record r{at, a, b, n, k, what, stream_};
        return stream_ == outside ? sink_->take_outside(r) : sink_->take(r);
    }
    if (of_.virtual_time_ && events_.room() == 0) of_.drain(); // takes no virtual time
    if (lost_ > 0 && events_.room(2) > 1) [[unlikely]] {
        push(at, kind::lost, lost_, 0, 0, 0);
        lost_ = 0;
    }
    if (lost_ > 0 || events_.room() == 0) [[unlikely]] {
        ++lost_;
        lost_in_all_.store(lost_in_all_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return;
    }
    push(at, k, a, b, n, what);
    if ((events_.pushed() & (capacity / 4 - 1)) == 0) [[unlikely]]
        of_.poke();
}

void log::make_room(std::size_t events) noexcept {
    if (sink_) return;
    while (events_.room(events) < events) {
        if (of_.virtual_time_) {
            of_.drain();
        } else {
            of_.poke();
            queue::std_sync::yield();
        }
    }
}

std::uint32_t log::name(std::string_view text, code_address code) noexcept {
    if (text.empty() && code == 0) return 0;
    const std::uintptr_t at = text.empty() ? code : reinterpret_cast<std::uintptr_t>(text.data());
    auto& known = known_names_[at / 8 % known_names_.size()];
    if (known.at != at || known.size != text.size()) known = {at, text.size(), of_.name(text, code)};
    return known.number;
}

std::uint32_t log::new_task() noexcept {
    constexpr std::uint32_t at_a_time = 1024;
    if (sink_) return stream_ == outside ? of_.new_tasks(1) : sink_->new_task();
    if (next_task_ == tasks_end_) {
        next_task_ = of_.new_tasks(at_a_time);
        tasks_end_ = next_task_ + at_a_time;
    }
    return next_task_++;
}

} // namespace weft::trace
