#include "engine/worker/notes.hpp"

#include "engine/worker/engine.hpp"
#include "engine/worker/runtime_entry.hpp"

#include <algorithm>
#include <bit>

namespace weft::engine {

void note_hints(trace::log& log, const hints& h) noexcept {
    if (h.work != 0 || h.bytes != 0 || h.children != 0 || h.priority != 0)
        log.note(trace::kind::hint, std::bit_cast<std::uint64_t>(h.work), h.bytes,
                 static_cast<std::uint32_t>(h.children),
                 static_cast<std::uint8_t>(std::clamp(h.priority, -128, 127)));
    if (const auto bytes =
            static_cast<const std::byte*>(h.data_end) - static_cast<const std::byte*>(h.data_begin))
        log.note(trace::kind::data, reinterpret_cast<std::uint64_t>(h.data_begin),
                 static_cast<std::uint64_t>(bytes), 0, trace::whole_interval);
}

void note_spawn(trace::log& log, task& t, trace::origin from, std::uint64_t in,
                trace::code_address code) noexcept {
    t.number_ = log.new_task();
    log.note(trace::kind::spawn, t.number_, in, log.name(t.hint().name, code),
             static_cast<std::uint8_t>(from));
    note_hints(log, t.hint());
}

void note_exchange(trace::recorder& to, const worker& x, const worker& y) noexcept {
    to.outside([&](trace::log& log) {
        log.note(trace::kind::exchange, pack({x.id, y.id}), pack({x.core(), y.core()}));
    });
}

void note_steal(worker& w, const worker& from, const task* t) noexcept {
    if (w.log) [[unlikely]]
        w.log->note(trace::kind::steal, t ? t->number_ : 0,
                    std::bit_cast<std::uint64_t>(w.engine.machine.distance(w.core(), from.core())),
                    static_cast<std::uint32_t>(from.id));
}

void note_offer(worker& w, std::uint32_t number, const worker& thief) noexcept {
    note(w, trace::kind::expose, number,
         std::bit_cast<std::uint64_t>(w.log ? w.engine.machine.distance(thief.core(), w.core()) : 0),
         static_cast<std::uint32_t>(thief.id));
}

void note_inline_begin(std::uint32_t number) noexcept {
    worker& w = enter_runtime();
    note(w, trace::kind::begin, number, 0, 0, static_cast<std::uint8_t>(trace::start::inside));
    leave_runtime();
}

void note_end_early(trace::outcome how) noexcept {
    worker& w = enter_runtime();
    task& t = *w.current->running;
    note_what(w, trace::kind::end, t, how);
    if (w.log) {
        t.number_ = w.log->new_task();
        w.log->note(trace::kind::spawn, t.number_, 0, 0, static_cast<std::uint8_t>(trace::origin::runtime));
    }
    note_what(w, trace::kind::begin, t, trace::start::inside);
    leave_runtime();
}

void note_in_user_code(worker& w, trace::kind k, std::uint64_t a, std::uint64_t b, std::uint32_t n,
                       std::uint8_t what) noexcept {
    if (!w.log) return;
    if (w.modelled) return note(w, k, a, b, n, what);
    worker& here = enter_runtime(); // the handlers leave the log alone only there
    note(here, k, a, b, n, what);
    leave_runtime();
}

void note_inline_end(std::uint32_t number, trace::outcome how) noexcept {
    worker& w = enter_runtime();
    note(w, trace::kind::end, number, 0, 0, static_cast<std::uint8_t>(how));
    leave_runtime();
}

} // namespace weft::engine
