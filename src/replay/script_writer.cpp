#include "replay/script_writer.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

namespace weft::replay {

namespace {

using trace::kind;
using trace::origin;
using trace::record;

std::uint32_t low(std::uint64_t n) { return static_cast<std::uint32_t>(n); }

template <class Table>
void sort_by_task(Table& t) {
    std::ranges::stable_sort(t, {}, [](const auto& e) { return e.of; });
}

} // namespace

script_writer::script_writer(int workers, bool is_virtual, times from, std::uint32_t cores_name)
    : from_(from)
    , is_virtual_(is_virtual)
    , cores_name_(cores_name)
    , subjects_(static_cast<std::size_t>(workers) + 1) {}

void script_writer::ran(row t, std::int64_t ns) {
    if (from_ == times::measured && !is_virtual_) compute(t, ns);
}

void script_writer::event(const record& r, row top, row about, std::int64_t when) {
    last_ = std::max(last_, when);
    if (top != no_row && mark_of(top).is_machinery) top = no_row;
    switch (r.what_kind) {
    case kind::spawn: return spawn(r, top, about, when);
    case kind::group: return begin_group(r);
    case kind::hint:
    case kind::data:
    case kind::need: return describe(r);
    case kind::edge: edges_.emplace_back(low(r.a), low(r.b)); return;
    case kind::graph: return begin_graph(r, top, when);
    case kind::begin: return begin(r, top, about);
    case kind::end: return end(about, when);
    case kind::wait: return wait(r, top);
    case kind::waited: return waited(r, top);
    case kind::suspend: return suspend(r, top, about, when);
    case kind::ready: return ready(r, top, about, when);
    case kind::cost:
        if (from_ == times::declared) say(top, {.a = r.a, .what = act::cost, .how = r.what});
        return;
    case kind::activity:
        if (from_ == times::measured && is_virtual_ && r.what == 0 && r.b)
            compute(row_of(low(r.b)), when - static_cast<std::int64_t>(r.a));
        return;
    case kind::touch:
        if (waits_are_apart()) say(top, {.a = r.a, .b = r.b, .what = act::touch, .how = r.what});
        return;
    case kind::transfer:
        if (waits_are_apart()) say(top, {.a = r.a, .n = r.n, .what = act::transfer});
        return;
    case kind::home: return say(top, {.a = r.a, .b = r.b, .n = r.n, .what = act::home});
    case kind::iteration: return say(top, {.a = r.a, .what = act::iteration});
    case kind::lost: out_.lost += r.a; return;
    default: return;
    }
}

script script_writer::finish() {
    for (const auto& [before, after] : edges_)
        if (const row a = row_of(before), b = row_of(after); a != no_row && b != no_row)
            out_.edges.push_back({.of = b, .after = a});
    for (batch& b : out_.batches) b.ended = std::max({b.began, b.ended, open_roots_ > 0 ? last_ : 0});
    sort_by_task(out_.edges);
    sort_by_task(out_.uses);
    sort_by_task(out_.needs);
    sort_by_task(out_.shares);
    actions_.gather_into(out_);
    out_.signals = signals_.count();
    forget_lost_signals(out_);
    return std::move(out_);
}

row script_writer::row_of(std::uint32_t number) const {
    const auto found = rows_.find(number);
    return found == rows_.end() ? no_row : found->second;
}

script_writer::mark& script_writer::mark_of(row t) {
    if (marks_.size() <= t) {
        marks_.resize(t + 1);
        out_.tasks.resize(t + 1);
    }
    return marks_[t];
}

script_writer::subject& script_writer::subject_of(const record& r) {
    return subjects_[r.stream == trace::outside ? subjects_.size() - 1 : r.stream];
}

/// The time of a task that was measured on a thread holds its waits for memory and disks.
bool script_writer::waits_are_apart() const noexcept { return from_ == times::declared || is_virtual_; }

void script_writer::compute(row t, std::int64_t ns) {
    if (t == no_row || ns <= 0 || mark_of(t).is_machinery) return;
    actions_.compute(t, ns);
}

// ---- tasks

void script_writer::spawn(const record& r, row top, row t, std::int64_t when) {
    rows_[low(r.a)] = t;
    mark& m = mark_of(t);
    m = {};
    actions_.begin(t);
    out_.tasks[t].hints.name = r.n;
    subject_of(r) = {.is_group = false, .number = t};
    const batch::root handed_in{.is_graph = false, .number = t, .at = when};
    switch (static_cast<origin>(r.what)) {
    case origin::root: return top == no_row ? add_root(handed_in) : say(top, {.n = t, .what = act::async});
    case origin::child:
        if (top == no_row) return add_root(handed_in); // spawned by a plain thread
        return say(top, {.a = group_at(r.b), .n = t, .what = act::spawn});
    case origin::fork:
        if (top == no_row) {
            m.is_machinery = true;
            return;
        }
        m.is_fork = true;
        return say(top, {.n = t, .what = act::fork});
    case origin::graph: return spawn_of_graph(r, top, t);
    case origin::share: out_.shares.push_back({.of = row_of(low(r.b)), .task = t}); return;
    case origin::runtime: m.is_machinery = true; return;
    }
}

void script_writer::spawn_of_graph(const record& r, row top, row t) {
    const auto known = run_of_.find(low(r.b));
    if (known == run_of_.end()) return;
    const std::uint32_t number = known->second;
    mark_of(t).in_run = number;
    run& of = runs_[number];
    const bool was_there_at_start = low(r.a) - of.first < of.count;
    if (!was_there_at_start) {
        ++of.left;
        if (top != no_row) return say(top, {.a = number, .n = t, .what = act::add});
        // A plain thread added it: it may as well have been there at the start.
    }
    out_.graphs[number].push_back(t);
}

void script_writer::describe(const record& r) {
    const subject& of = subject_of(r);
    if (of.number == no_row) return;
    hint& h = of.is_group ? out_.groups[of.number] : out_.tasks[of.number].hints;
    if (r.what_kind == kind::hint) {
        h.work = std::bit_cast<double>(r.a);
        h.bytes = r.b;
        h.children = static_cast<std::int32_t>(r.n);
        h.priority = static_cast<std::int8_t>(r.what);
    } else if (r.what_kind == kind::data && r.what == trace::whole_interval) {
        h.data_begin = r.a;
        h.data_bytes = r.b;
    } else if (of.is_group) {
        return;
    } else if (r.what_kind == kind::data) {
        out_.uses.push_back({.of = of.number, .first = r.a, .bytes = r.b, .datum = r.n, .mode = r.what});
    } else {
        out_.needs.push_back({.of = of.number,
                              .amount = static_cast<std::int64_t>(r.a),
                              .name = r.n,
                              .is_cores = r.n == cores_name_,
                              .how = static_cast<std::uint8_t>(r.b),
                              .within = r.what});
    }
}

void script_writer::begin(const record& r, row top, row t) {
    const bool is_inside = r.what == static_cast<std::uint8_t>(trace::start::inside);
    if (is_fork(t) && is_inside) say(top, {.n = t, .what = act::join});
}

void script_writer::end(row t, std::int64_t when) {
    if (t == no_row) return;
    // What has ended does not end again, even if a damaged trace says so.
    mark& m = mark_of(t);
    bool ends_run = false;
    if (const std::uint32_t in = std::exchange(m.in_run, no_row); in != no_row && runs_[in].left > 0)
        ends_run = --runs_[in].left == 0 && std::exchange(runs_[in].is_root, false);
    const bool ends_root = std::exchange(m.is_root, false);
    if (!ends_run && !ends_root) return;
    out_.batches.back().ended = when;
    open_roots_ -= ends_run && ends_root ? 2 : 1;
}

/// A plain thread hands in a task or starts a graph.
void script_writer::add_root(batch::root r) {
    if (open_roots_ == 0) out_.batches.push_back({.began = r.at});
    batch& b = out_.batches.back();
    r.at -= b.began;
    b.roots.push_back(r);
    ++open_roots_;
    if (!r.is_graph) mark_of(r.number).is_root = true;
}

// ---- groups, joins, graphs

std::uint32_t script_writer::group_at(std::uint64_t address) {
    const auto [at, is_new] = groups_.emplace(address, static_cast<std::uint32_t>(out_.groups.size()));
    if (is_new) out_.groups.emplace_back();
    return at->second;
}

void script_writer::begin_group(const record& r) {
    const std::uint32_t number = group_at(r.a);
    subject_of(r) = {.is_group = true, .number = number};
    out_.groups[number].name = r.n;
}

void script_writer::begin_graph(const record& r, row top, std::int64_t when) {
    const auto number = static_cast<std::uint32_t>(out_.graphs.size());
    const std::uint32_t count = low(r.b);
    out_.graphs.emplace_back();
    run_of_[low(r.a)] = number;
    runs_.push_back(
        {.first = low(r.a), .count = count, .left = count, .is_root = top == no_row && count > 0});
    if (top != no_row) {
        say(top, {.n = number, .what = act::start});
        started_[top].push_back(number);
    } else if (count > 0) {
        add_root({.is_graph = true, .number = number, .at = when});
    }
}

void script_writer::wait(const record& r, row top) {
    if (top == no_row) return;
    if (r.b == 0) {
        if (const row forked = row_of(r.n); is_fork(forked)) say(top, {.n = forked, .what = act::join});
        return;
    }
    at_groups_.insert(top);
    if (const auto g = groups_.find(r.b); g != groups_.end()) {
        say(top, {.n = g->second, .what = act::wait});
    } else if (const auto runs = started_.find(top); runs != started_.end()) {
        // The group of a run of a graph has no children.
        for (const std::uint32_t number : runs->second) say(top, {.n = number, .what = act::finish});
        started_.erase(runs);
    }
}

void script_writer::waited(const record& r, row top) {
    if (r.b == 0) return;
    groups_.erase(r.b); // the address may be another group's next
    if (top != no_row) at_groups_.erase(top);
}

// ---- waits for something else

void script_writer::suspend(const record& r, row top, row t, std::int64_t when) {
    if (t == no_row || top == no_row) return;
    if (r.what == trace::reason_yielded) return say(t, {.what = act::yield});
    if (r.what == trace::reason_unblocked && !at_groups_.contains(t)) signals_.suspend(t, when);
}

void script_writer::ready(const record& r, row top, row t, std::int64_t when) {
    if (r.what != trace::reason_unblocked || t == no_row || at_groups_.contains(t)) return;
    if (top == no_row)
        signals_.release_from_outside(t, when);
    else
        signals_.release(top, t);
}

} // namespace weft::replay
