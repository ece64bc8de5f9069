#include "engine/observe/profile_file.hpp"

#include "trace/write/modules.hpp"

#include <weft/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>

namespace weft::engine {

namespace {

using trace::event_clock;
using trace::profile;
using trace::record;

/// By the system's clock: when this library was loaded, or up to when an earlier profile of the process accounts for the
/// time. Relaxed: it is a number only.
std::atomic<std::int64_t> accounted_until{event_clock::system_ns()};

/// What a profile finds between two events between which the program does nothing, in ticks.
std::int64_t cost_of_event(const event_clock& clock) {
    using trace::kind;
    constexpr int batches = 16, forks = 256;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < batches; ++i) {
        profile scratch({}, 1);
        trace::event_sink& to = scratch;
        const auto note = [&](kind k, std::uint32_t task, trace::origin from) {
            to.take({clock.ticks(), task, 0, 1, k,
                     static_cast<std::uint8_t>(k == kind::spawn   ? static_cast<int>(from)
                                               : k == kind::begin ? static_cast<int>(trace::start::inside)
                                                                  : 0),
                     0});
        };
        const auto run = [&](trace::origin from, auto&& body) {
            const std::uint32_t t = to.new_task();
            note(kind::spawn, t, from);
            note(kind::begin, t, from);
            body();
            note(kind::end, t, from);
        };
        run(trace::origin::root, [&] {
            for (int f = 0; f < forks; ++f) run(trace::origin::fork, [] {});
        });
        const auto found = scratch.finish(0);
        least = std::min(least, static_cast<double>(found.work) / (3.0 * forks));
    }
    return std::llround(least);
}

} // namespace

profile_file::profile_file(std::string path, std::string header,
                           const std::atomic<std::int64_t>* virtual_time)
    : path_(std::move(path))
    , header_(std::move(header))
    , virtual_time_(virtual_time)
    , made_(virtual_time ? trace::moment{} : clock_.now())
    , scale_(scale_of_clock())
    , folded_(scale_.began, scale_.ns, scale_.cost)
    , events_(folded_, virtual_time) {
    if (!std::ofstream(path_))
        throw error("the profile cannot be written", "WEFT_PROFILE=" + path_, "a file that can be created");
}

profile_file::scale profile_file::scale_of_clock() const {
    if (virtual_time_) return {};
    constexpr std::int64_t long_enough = 5'000'000; // ns: the clocks are read with an error of some 50 ns
    trace::moment later = clock_.now();
    while (later.ns - made_.ns < long_enough) later = clock_.now();
    scale s;
    s.ns = static_cast<double>(later.ns - made_.ns) / static_cast<double>(later.ticks - made_.ticks);
    const std::int64_t before = made_.ns - accounted_until.load(std::memory_order_relaxed);
    s.began = made_.ticks - static_cast<std::uint64_t>(static_cast<double>(before) / s.ns);
    s.cost = cost_of_event(clock_);
    return s;
}

std::uint64_t profile_file::now() const noexcept {
    return virtual_time_ ? static_cast<std::uint64_t>(virtual_time_->load(std::memory_order_relaxed))
                         : clock_.ticks();
}

double profile_file::ns_of_tick() const noexcept {
    if (virtual_time_) return 1;
    const trace::moment last = clock_.now();
    return static_cast<double>(last.ns - made_.ns) / static_cast<double>(last.ticks - made_.ticks);
}

std::string profile_file::text() {
    using json = nlohmann::ordered_json;
    json all = json::parse(header_);
    const double ns = ns_of_tick();
    const trace::profiled_program p = folded_.finish(now());
    if (!virtual_time_) accounted_until.store(event_clock::system_ns(), std::memory_order_relaxed);
    const auto time = [ns](std::int64_t ticks) { return std::llround(static_cast<double>(ticks) * ns); };

    all["complete"] = p.is_complete;
    all["tasks"] = p.tasks;
    all["work_ns"] = time(p.work);
    all["span_ns"] = time(p.span.plain());
    all["outside_ns"] = time(p.outside);
    all["estimated"] = {{"ns", time(p.skipped.time)}, {"forks", p.skipped.forks}, {"tasks", p.skipped.tasks}};
    all["burdened"] = json::array();
    for (std::size_t k = 0; k < trace::burdens_ns.size(); ++k)
        all["burdened"].push_back({{"burden_ns", trace::burdens_ns[k]}, {"span_ns", time(p.span.of[k + 1])}});

    all["constructs"] = json::object();
    for (std::size_t c = 0; c < p.constructs.size(); ++c)
        if (const trace::construct_figures& f = p.constructs[c]; f.tasks > 0)
            all["constructs"][std::to_string(c)] = {{"tasks", f.tasks},
                                                    {"own_ns", time(f.own)},
                                                    {"longest_ns", time(f.longest)},
                                                    {"work_ns", time(f.work)},
                                                    {"span_ns", time(f.span)}};
    all["path"] = json::array();
    for (const trace::path_share& s : p.path)
        all["path"].push_back({{"construct", s.construct},
                               {"pieces", s.pieces},
                               {"ns", time(s.time)},
                               {"longest_ns", time(s.longest)}});
    json names = json::object(), places = json::object();
    events_.each_name([&](std::uint32_t n, const std::string& name, trace::code_address code) {
        if (n >= trace::of_others) return;
        const std::string key = std::to_string(n);
        if (!name.empty()) names[key] = name;
        if (code == 0) return;
        const trace::code_place at = trace::place_of(code);
        places[key] = {{"module", at.module}, {"build_id", at.build_id}, {"offset", at.offset}};
    });
    all["names"] = names;
    all["places"] = places;
    return all.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

void profile_file::finish() noexcept {
    if (std::exchange(finished_, true)) return;
    try {
        std::ofstream out(path_);
        if ((out << text()).flush()) return;
    } catch (const std::bad_alloc&) {}
    std::fprintf(stderr, "weft: the profile %s could not be written\n", path_.c_str());
}

} // namespace weft::engine
