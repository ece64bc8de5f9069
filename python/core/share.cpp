#include "share.hpp"

#include "share/decision.hpp"
#include "share/lending_board.hpp"
#include "share/slot_writer.hpp"
#include "share/table.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace weft {
namespace {

using costs_of = std::optional<std::vector<share::measured_placement>>;

/// Text that another process wrote: what is no UTF-8 is replaced.
nb::str text_of(std::string_view s) {
    return nb::steal<nb::str>(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
}

template <std::integral T>
T number_in(const nb::dict& d, const char* key, std::optional<T> otherwise = {}) {
    if (!d.contains(key)) {
        if (otherwise) return *otherwise;
        throw error("a number is missing", "no " + std::string(key), "a dict with " + std::string(key));
    }
    T value{};
    if (!nb::try_cast(d[key], value))
        throw error("this is no such number",
                    fmt::format("{} = {}", key, nb::cast<std::string>(nb::str(d[key]))),
                    fmt::format("{}..{}", std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    return value;
}

std::string text_in(const nb::dict& d, const char* key, const char* otherwise) {
    return d.contains(key) ? nb::cast<std::string>(d[key]) : otherwise;
}

template <class Names>
nb::list names_of(const Names& names) {
    nb::list all;
    for (const std::string_view name : names) all.append(text_of(name));
    return all;
}

// ---- the decision

share::snapshot snapshot_of(const std::vector<int>& domains, const nb::list& programs) {
    share::snapshot s;
    s.domains = domains;
    for (const nb::handle h : programs) {
        const auto d = nb::cast<nb::dict>(h);
        s.programs.push_back({.id = number_in<int>(d, "id"),
                              .rate = number_in<std::int64_t>(d, "rate", 0),
                              .load = number_in<int>(d, "load", 1000),
                              .domain = number_in<int>(d, "domain", -1)});
    }
    return s;
}

nb::dict dict_of_placed(const share::placed_program& p) {
    nb::dict d;
    d["id"] = p.id;
    d["domain"] = p.domain;
    d["cores"] = p.cores;
    d["high"] = p.high;
    d["active"] = p.active;
    d["rate"] = p.rate;
    d["idle"] = p.is_idle;
    d["why"] = text_of(p.why);
    return d;
}

nb::dict share_decide(const std::string& by, const std::vector<int>& domains, const nb::list& programs,
                      std::uint64_t generation, std::int64_t now, std::int64_t decided,
                      std::int64_t counter_period, int idle_below, const costs_of& costs) {
    share::snapshot s = snapshot_of(domains, programs);
    s.generation = generation;
    s.now = now;
    s.decided = decided;
    share::decision_knobs knobs;
    knobs.counter_period = counter_period;
    knobs.idle_below = idle_below;
    if (costs) knobs.costs = *costs;
    const share::decision made = share::decide(s, share::scheduler_of(by), knobs);
    nb::list placed;
    for (const share::placed_program& p : made.programs) placed.append(dict_of_placed(p));
    nb::dict d;
    d["generation"] = made.generation;
    d["changed"] = made.is_changed;
    d["why"] = text_of(made.why);
    d["text"] = text_of(made.text);
    d["score"] = made.score;
    d["exact"] = made.is_exact;
    d["programs"] = placed;
    return d;
}

std::int64_t share_score(const std::vector<int>& domains, const std::vector<std::int64_t>& rates) {
    if (domains.size() != rates.size() || domains.size() > share::most_programs)
        throw error("domains and rates do not belong together",
                    fmt::format("{} domains, {} rates", domains.size(), rates.size()),
                    fmt::format("one of each for every program, at most {}", share::most_programs));
    for (const std::int64_t r : rates)
        if (r < 0 || r > share::most_rate)
            throw error("a rate is out of range", std::to_string(r), fmt::format("0..{}", share::most_rate));
    return share::score(domains, rates);
}

std::vector<share::domains_of> share_placements(int count, int domains) {
    constexpr int most = 10;
    if (count < 0 || count > most || domains < 1 || domains > share::most_domains)
        throw error("placements of so many programs are not enumerated",
                    fmt::format("{} programs, {} domains", count, domains),
                    fmt::format("0..{} programs, 1..{} domains", most, share::most_domains));
    std::vector<share::domains_of> all;
    share::for_each_placement(count, domains, [&](const share::domains_of& one) { all.push_back(one); });
    return all;
}

// ---- the table

share::table_program program_of(const nb::dict& d) {
    return {.slot = number_in<int>(d, "slot"),
            .pid = number_in<std::int64_t>(d, "pid", 0),
            .start = number_in<std::int64_t>(d, "start", 0),
            .rate = number_in<std::int64_t>(d, "rate", 0),
            .source = share::source_of(text_in(d, "source", "none")),
            .load = number_in<int>(d, "load", 1000),
            .domain = number_in<int>(d, "domain", -1),
            .active = number_in<int>(d, "active", 0),
            .name = text_in(d, "name", "")};
}

nb::dict dict_of_program(const share::table_program& p) {
    nb::dict d;
    d["slot"] = p.slot;
    d["pid"] = p.pid;
    d["start"] = p.start;
    d["rate"] = p.rate;
    d["source"] = text_of(share::source_names[static_cast<std::size_t>(p.source)]);
    d["load"] = p.load;
    d["domain"] = p.domain;
    d["active"] = p.active;
    d["name"] = text_of(p.name);
    return d;
}

bool publish_table(share::table& t, std::uint64_t generation, std::int64_t decided, const std::string& by,
                   const nb::list& programs) {
    share::table_numbers n;
    n.generation = generation;
    n.decided = decided;
    n.by = static_cast<int>(share::scheduler_of(by));
    for (const nb::handle h : programs) n.programs.push_back(program_of(nb::cast<nb::dict>(h)));
    return t.publish(std::move(n));
}

nb::dict read_shared_table(share::table& t) {
    const share::table_reading r = t.read();
    nb::dict d;
    d["state"] = text_of(share::name_of(r.state));
    d["why"] = text_of(r.why);
    if (r.state != share::reading::fresh) return d;
    d["generation"] = r.numbers.generation;
    d["decided"] = r.numbers.decided;
    d["published"] = r.numbers.published;
    d["daemon"] = r.numbers.daemon;
    d["scheduler"] = text_of(share::scheduler_names[r.numbers.by]);
    nb::list programs;
    for (const share::table_program& p : r.numbers.programs) programs.append(dict_of_program(p));
    d["programs"] = programs;
    return d;
}

nb::dict read_shared_slot(share::table& t, int slot, std::int64_t now, std::int64_t timeout) {
    const share::slot_reading r = t.read(slot, now, timeout);
    nb::dict d;
    d["state"] = text_of(share::name_of(r.state));
    d["why"] = text_of(r.why);
    if (r.state != share::reading::fresh && r.state != share::reading::stale &&
        r.state != share::reading::over)
        return d;
    d["pid"] = r.numbers.pid;
    d["start"] = r.numbers.start;
    d["published"] = r.numbers.published;
    d["processor"] = r.numbers.processor;
    d["tasks"] = r.numbers.tasks;
    d["work"] = r.numbers.work;
    d["bytes"] = r.numbers.bytes;
    d["misses"] = r.numbers.misses;
    d["workers"] = r.numbers.workers;
    d["active"] = r.numbers.active;
    d["busy"] = r.numbers.busy;
    return d;
}

/// A slot in the hands of Python: what a runtime does, for tests and for other runtimes.
class python_slot {
public:
    explicit python_slot(const std::string& spec) : writer_(share::slot_writer::claim(spec)) {
        if (!writer_)
            throw error("another process has the slot, or it is gone", spec, "a slot of this process alone");
    }
    void publish(std::int64_t processor, std::int64_t tasks, std::int64_t work, std::int64_t bytes,
                 std::int64_t misses, std::int64_t workers, std::int64_t active, std::int64_t busy) {
        last_ = {.processor = processor,
                 .tasks = tasks,
                 .work = work,
                 .bytes = bytes,
                 .misses = misses,
                 .workers = workers,
                 .active = active,
                 .busy = busy};
        writer_->publish(last_);
    }
    void finish() {
        last_.workers = std::max<std::int64_t>(last_.workers, 1);
        last_.is_over = true;
        writer_->publish(last_);
    }
    int wish() { return writer_->wish(); }

private:
    std::optional<share::slot_writer> writer_;
    share::slot_numbers last_{};
};

void bind_table(nb::module_& m) {
    nb::class_<share::table>(m, "ShareTable", "The table of the programs on a machine.")
        .def_static("create", &share::table::create, nb::arg("path"), nb::arg("slots"), nb::arg("period"),
                    "As the daemon: makes the table, or takes over one whose daemon is gone. period: ns.")
        .def_static("open", &share::table::open, nb::arg("path"), "As a reader.")
        .def_prop_ro("path", &share::table::path)
        .def_prop_ro("slots", &share::table::slots)
        .def_prop_ro("period", &share::table::period)
        .def_prop_ro("adopted", &share::table::is_adopted)
        .def("prepare", &share::table::prepare, nb::arg("slot"), nb::arg("uid"),
             "Makes a new slot file for a program of this user. Returns the program's WEFT_SHARE.")
        .def("release", &share::table::release, nb::arg("slot"))
        .def("publish", &publish_table, nb::arg("generation"), nb::arg("decided"), nb::arg("scheduler"),
             nb::arg("programs"), "False, and nothing is written, if the generation is below the table's.")
        .def("read", &read_shared_table)
        .def("slot", &read_shared_slot, nb::arg("slot"), nb::arg("now"), nb::arg("timeout"),
             "What the program of a slot tells of itself. Times in ns of CLOCK_MONOTONIC.")
        .def("remove", &share::table::remove)
        .def("close", &share::table::close);
    nb::class_<python_slot>(m, "ShareSlot", "A slot as its program has it.")
        .def(nb::init<const std::string&>(), nb::arg("spec"))
        .def("publish", &python_slot::publish, nb::kw_only(), nb::arg("processor") = 0, nb::arg("tasks") = 0,
             nb::arg("work") = 0, nb::arg("bytes") = 0, nb::arg("misses") = -1, nb::arg("workers") = 1,
             nb::arg("active") = 1, nb::arg("busy") = 0)
        .def("finish", &python_slot::finish)
        .def("wish", &python_slot::wish, "Number of active workers that the table wishes; 0: none.");
}

// ---- cores that are lent

nb::list read_lending(const std::string& directory) {
    const share::lending_board board = share::lending_board::watch(directory);
    nb::list programs;
    for (const share::lending_peer& p : board.peers()) {
        nb::list homes, claims;
        for (int i = 0; i < p.head.workers; ++i) {
            const share::home_word w = p.home(i);
            if (w.cpu < 0) continue;
            nb::dict d;
            d["cpu"] = w.cpu;
            d["lent"] = w.is_lent;
            d["generation"] = w.generation;
            homes.append(d);
        }
        for (int i = 0; i < p.head.guests; ++i) {
            const share::claim_word w = p.claim(i);
            if (w.cpu < 0) continue;
            nb::dict d;
            d["cpu"] = w.cpu;
            d["lender"] = w.lender;
            claims.append(d);
        }
        nb::dict d;
        d["name"] = text_of(p.head.name);
        d["pid"] = p.head.pid;
        d["start"] = p.head.start;
        d["workers"] = p.head.workers;
        d["guests"] = p.head.guests;
        d["own"] = homes;
        d["borrowed"] = claims;
        programs.append(d);
    }
    return programs;
}

} // namespace

void bind_share(nb::module_& m) {
    m.attr("share_version") = share::layout_version;
    m.attr("share_most_programs") = share::most_programs;
    m.attr("share_most_domains") = share::most_domains;
    m.attr("share_most_rate") = share::most_rate;
    m.attr("share_schedulers") = names_of(share::scheduler_names);
    m.attr("share_sources") = names_of(share::source_names);
    m.def("share_decide", &share_decide, nb::arg("scheduler"), nb::arg("domains"), nb::arg("programs"),
          nb::kw_only(), nb::arg("generation") = 0, nb::arg("now") = 0, nb::arg("decided") = 0,
          nb::arg("counter_period") = share::decision_knobs().counter_period,
          nb::arg("idle_below") = share::decision_knobs().idle_below, nb::arg("costs") = nb::none(),
          "Which program is placed on which domain. Rates in 1/s, loads in thousandths, times in ns.");
    m.def("share_score", &share_score, nb::arg("domains_of"), nb::arg("rates"),
          "The sum over the pairs of programs on one domain of the differences of their rates.");
    m.def("share_placements", &share_placements, nb::arg("count"), nb::arg("domains"),
          "All placements but for the names of the domains.");
    m.def("share_smooth", &share::smoothed, nb::arg("old"), nb::arg("new"), nb::arg("weight"),
          "Exponential moving average. weight: of the new value, in thousandths; old < 0: there is none.");
    m.def("lending_directory", &share::lending_board::usual_directory,
          "Where the programs of this user lend cores to each other.");
    m.def("read_lending", &read_lending, nb::arg("directory"),
          "The programs that lend cores to each other there: own cores, and those that they borrow.");
    bind_table(m);
}

} // namespace weft
