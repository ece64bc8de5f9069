#include "engine/worker/notes.hpp"

#include "engine/process/process.hpp"
#include "machine/describe.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

namespace weft::engine {

namespace {

std::vector<std::string> command_line() {
    std::ifstream file("/proc/self/cmdline");
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    return words;
}

double wall_clock_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

} // namespace

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

void note_spawn(trace::log& log, task& t, trace::origin from, std::uint64_t in) noexcept {
    t.number_ = log.new_task();
    log.note(trace::kind::spawn, t.number_, in, log.name(t.hint().name), static_cast<std::uint8_t>(from));
    note_hints(log, t.hint());
}

void note_steal(worker& w, const worker& from, const task* t) noexcept {
    if (w.log) [[unlikely]]
        w.log->note(trace::kind::steal, t ? t->number_ : 0,
                    std::bit_cast<std::uint64_t>(w.eng.on.distance(w.core, from.core)),
                    static_cast<std::uint32_t>(from.id));
}

void engine::record(const record_options& o, const std::atomic<std::int64_t>* virtual_time) {
    recorded = o;
    if (o.asks_for_nothing()) return;
    {
        const std::lock_guard guard(process_lock());
        for (std::string* file : {&recorded.trace, &recorded.report, &recorded.progress})
            *file = file_of_its_own(std::move(*file));
    }
    if (!recorded.report.empty()) reports = std::make_unique<report_file>(recorded.report);
    if (!recorded.progress.empty())
        progress = std::make_unique<progress_file>(recorded.progress, *this, virtual_time != nullptr);
    if (!recorded.trace.empty()) record_events(virtual_time);
    finishes_files.enter(*this);
}

void engine::finish_files() noexcept {
    if (tracer) tracer->finish();
    if (reports) reports->write();
    if (progress) progress->finish();
}

void engine::record_events(const std::atomic<std::int64_t>* virtual_time) {
    const record_options& o = recorded;
    std::vector<int> cores;
    for (int w = 0; w < worker_count(); ++w) cores.push_back(worker_at(w).core);
    const nlohmann::json header = {{"weft", WEFT_VERSION},
                                   {"engine", o.engine_name},
                                   {"policy", o.policy_spec},
                                   {"seed", o.seed},
                                   {"workers", worker_count()},
                                   {"cores", cores},
                                   {"machine", {{"name", on.name()}, {"description", describe(on)}}},
                                   {"misses_from", name_of(misses_from)},
                                   {"instructions_from", name_of(instructions_from)},
                                   {"resources", o.resources},
                                   {"command", command_line()},
                                   {"process", getpid()},
                                   {"began", wall_clock_seconds()},
                                   {"time", virtual_time ? "virtual" : "real"}};
    tracer = std::make_unique<trace::recorder>(
        o.trace, header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), worker_count(),
        virtual_time);
}

void engine::trace_worker(worker& w) noexcept {
    if (!tracer) return;
    w.log = &tracer->of(w.id);
    w.slow = true;
}

void begin_inside(std::uint32_t number) noexcept {
    worker& w = enter_runtime();
    note(w, trace::kind::begin, number, 0, 0, static_cast<std::uint8_t>(trace::start::inside));
    leave_runtime();
}

void end_early(trace::outcome how) noexcept {
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

void note_in_passing(worker& w, trace::kind k, std::uint64_t a, std::uint64_t b, std::uint32_t n,
                     std::uint8_t what) noexcept {
    if (!w.log) return;
    if (!w.modelled) enter_runtime(); // only there the handler leaves the log alone
    note(w, k, a, b, n, what);
    if (!w.modelled) leave_runtime();
}

void end_inside(std::uint32_t number, trace::outcome how) noexcept {
    worker& w = enter_runtime();
    note(w, trace::kind::end, number, 0, 0, static_cast<std::uint8_t>(how));
    leave_runtime();
}

} // namespace weft::engine
