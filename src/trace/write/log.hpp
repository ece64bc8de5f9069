#pragma once

#include "queue/spsc_ring.hpp"
#include "trace/write/names.hpp"
#include "trace/write/record.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::trace {

class recorder;
struct event_sink;

/// The events of one worker. It has one writer at a time: the thread that runs the worker, while it is in the
/// runtime.
class log {
public:
    /// `sink`: gets the events; null: the ring does.
    log(recorder& of, std::uint16_t stream, event_sink* sink);
    ~log();
    log(const log&) = delete;
    log& operator=(const log&) = delete;

    /// Never waits where time is real: if there is no room, the event is counted as lost.
    void note(kind k, std::uint64_t a = 0, std::uint64_t b = 0, std::uint32_t n = 0,
              std::uint8_t what = 0) noexcept {
        note_at(now(), k, a, b, n, what);
    }
    /// For an event whose effect other threads may have seen by now: stamped with a time before the effect.
    void note_at(std::uint64_t at, kind, std::uint64_t a = 0, std::uint64_t b = 0, std::uint32_t n = 0,
                 std::uint8_t what = 0) noexcept;
    std::uint64_t now() const noexcept;
    /// Waits until there is room for so many events: for those that come in bulk.
    void make_room(std::size_t events) noexcept;
    /// A number for a new task.
    std::uint32_t new_task() noexcept;
    /// The number of a name, or of a place if the name is empty (names.hpp); 0 for nothing. The text must stay where it is
    /// (a literal): it is known by its address.
    std::uint32_t name(std::string_view, code_address = 0) noexcept;
    recorder& of() const noexcept { return of_; }
    event_sink* sink() const noexcept { return sink_; } ///< null: the events go to a file

    /// The next event that the sink follows calls before(of) first, until this is called again with null.
    void interrupt_with(void (*before)(void*), void* of) noexcept {
        before_ = before;
        before_of_ = of;
    }

private:
    friend class recorder;
    using ring = queue::spsc_ring<record>;

    void push(std::uint64_t at, kind k, std::uint64_t a, std::uint64_t b, std::uint32_t n,
              std::uint8_t what) noexcept;

    static constexpr std::size_t capacity = std::size_t{1} << 18; ///< 8 MB, of which what is used is touched

    recorder& of_;
    const std::uint16_t stream_;
    event_sink* const sink_;
    void (*before_)(void*) = nullptr;
    void* before_of_ = nullptr;
    ring::slot* const slots_;
    ring events_;
    std::uint32_t next_task_ = 0, tasks_end_ = 0; ///< numbers for tasks that this log may give out
    struct known_name {
        std::uintptr_t at = 0; ///< of the text, or of the code
        std::size_t size = 0;  ///< of the text; 0: code
        std::uint32_t number = 0;
    };
    std::array<known_name, 64> known_names_{};  ///< by address
    std::uint64_t lost_ = 0;                    ///< since the last event that found room
    std::atomic<std::uint64_t> lost_in_all_{0}; ///< read by the thread that writes the file
};

} // namespace weft::trace
