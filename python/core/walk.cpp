#include "walk.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace weft::trace {

namespace {

constexpr row none = no_row;
/// Far above what clocks of workers differ by.
constexpr std::int64_t longest_wait_ns = 100'000;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
std::uint32_t task_of(const record& r) { return static_cast<std::uint32_t>(r.a); }

/// From numbers of tasks to rows: an array while the numbers are dense.
class row_index {
public:
    explicit row_index(std::span<const record> records) {
        std::uint64_t largest = 0, tasks = 0;
        for (const record& r : records) {
            if (r.what_kind != kind::spawn) continue;
            largest = std::max<std::uint64_t>(largest, task_of(r));
            ++tasks;
        }
        // Workers take numbers by the thousand and need not use them up.
        if (largest <= 16 * tasks + 4'000'000) dense_.assign(largest + 1, none);
    }
    row get(std::uint32_t number) const {
        if (number < dense_.size()) return dense_[number];
        const auto found = sparse_.find(number);
        return found == sparse_.end() ? none : found->second;
    }
    void set(std::uint32_t number, row r) {
        if (number < dense_.size())
            dense_[number] = r;
        else
            sparse_[number] = r;
    }

private:
    std::vector<row> dense_;
    std::unordered_map<std::uint32_t, row> sparse_;
};

struct gap {
    std::int64_t begin, end;
};

struct entry {
    row task;
    bool is_below; ///< began on top of its parent
};

/// What was put aside.
struct aside {
    std::vector<entry> stack;
    row child = none; ///< that the rest was exposed under; none: suspended
    std::int64_t since = 0;
};

struct worker_state {
    std::vector<entry> stack;
    std::int64_t since = 0;          ///< the top of the stack has been there
    std::size_t last_segment = none; ///< of the table
    std::int64_t search = unknown, sleep = unknown;
};

/// A path through forks, joins, groups and edges.
struct way {
    std::int64_t length = 0;
    std::uint32_t last = none; ///< its last step; none: it is empty
};
/// A stretch of it in one task.
struct step {
    row task;
    std::uint32_t before;
    std::int64_t begin; ///< length of what comes before
};

struct stream_state {
    std::vector<std::uint32_t> records;
    std::size_t next = 0;
    std::int64_t now = 0; ///< of the last record; only `ready` is stamped earlier
};

class walker {
public:
    walker(std::span<const record> records, int workers, bool complete, observer* who)
        : records_(records)
        , complete_(complete)
        , who_(who)
        , rows_(records)
        , workers_(at(workers))
        , streams_(at(workers) + 1) {
        for (std::size_t i = 0; i < records.size(); ++i) {
            const std::size_t s = records[i].stream;
            if (s == outside || s < workers_.size())
                streams_[std::min(s, workers_.size())].records.push_back(static_cast<std::uint32_t>(i));
        }
        find_gaps();
        find_edges();
        out_.order.reserve(records.size());
    }

    tables run() {
        merge();
        finish();
        return std::move(out_);
    }

private:
    // ---- before

    void find_gaps() {
        for (std::size_t w = 0; w < workers_.size(); ++w) {
            std::int64_t before = 0;
            for (const std::uint32_t i : streams_[w].records) {
                const record& r = records_[i];
                if (r.what_kind == kind::lost) gaps_.push_back({before, time_of(r)});
                before = std::max(before, time_of(r));
            }
        }
        std::ranges::sort(gaps_, {}, &gap::end);
        // Ends ascend; with the begins lowered to the least of those behind, one search finds an overlap.
        for (std::size_t g = gaps_.size(); g > 1; --g)
            gaps_[g - 2].begin = std::min(gaps_[g - 2].begin, gaps_[g - 1].begin);
    }
    bool overlaps_gap(std::int64_t begin, std::int64_t end) const {
        const auto g = std::ranges::lower_bound(gaps_, begin, {}, &gap::end);
        return g != gaps_.end() && g->begin <= end;
    }

    void find_edges() {
        for (const record& r : records_)
            if (r.what_kind == kind::edge) edges_.emplace_back(static_cast<std::uint32_t>(r.b), task_of(r));
        std::ranges::sort(edges_);
    }
    auto predecessors(std::uint32_t number) const {
        return std::ranges::equal_range(edges_, number, {}, [](const auto& e) { return e.first; });
    }

    static std::int64_t time_of(const record& r) { return static_cast<std::int64_t>(r.at); }

    // ---- the order

    /// By time, but an effect waits for its cause: clocks differ a little, and many events of the model have
    /// the same time. What has waited counts as if it had happened when its cause did.
    void merge() {
        using head = std::tuple<std::int64_t, std::size_t>; // time, stream
        std::priority_queue<head, std::vector<head>, std::greater<>> heads;
        for (std::size_t s = 0; s < streams_.size(); ++s)
            if (!streams_[s].records.empty()) heads.emplace(time_of_next(streams_[s]), s);
        if (!heads.empty()) out_.first = std::get<0>(heads.top());
        std::vector<std::size_t> waiting;
        std::int64_t now = 0;
        while (!heads.empty() || !waiting.empty()) {
            auto resumed = std::ranges::find_if(
                waiting, [&](std::size_t s) { return !has_to_wait(next_of(streams_[s])); });
            bool force = false;
            std::size_t s = 0;
            if (resumed != waiting.end()) {
                streams_[*resumed].now = std::max(streams_[*resumed].now, now);
            } else if (!waiting.empty() &&
                       (heads.empty() || std::get<0>(heads.top()) >
                                             time_of_next(streams_[waiting.front()]) + longest_wait_ns)) {
                resumed = waiting.begin(); // its cause is lost
                force = true;
                ++out_.disorder;
            }
            if (resumed != waiting.end()) {
                s = *resumed;
                waiting.erase(resumed);
            } else {
                s = std::get<1>(heads.top());
                heads.pop();
            }
            stream_state& from = streams_[s];
            const std::int64_t others = heads.empty() ? INT64_MAX : std::get<0>(heads.top());
            for (;;) {
                if (!std::exchange(force, false) && has_to_wait(next_of(from))) {
                    waiting.push_back(s);
                    break;
                }
                const std::int64_t when = time_of_next(from);
                out_.order.push_back(from.records[from.next]);
                apply(next_of(from), s, when, from.now);
                from.now = when;
                now = std::max(now, when);
                out_.last = std::max(out_.last, when);
                if (++from.next == from.records.size()) break;
                if (time_of_next(from) >= others || !waiting.empty()) {
                    heads.emplace(time_of_next(from), s);
                    break;
                }
            }
        }
    }
    const record& next_of(const stream_state& s) const { return records_[s.records[s.next]]; }
    std::int64_t time_of_next(const stream_state& s) const { return std::max(s.now, time_of(next_of(s))); }

    bool has_to_wait(const record& r) const {
        switch (r.what_kind) {
        case kind::resume: return !asides_.contains(rows_.get(task_of(r)));
        case kind::begin: {
            if (rows_.get(task_of(r)) == none) return true;
            for (const auto& [_, before] : predecessors(task_of(r)))
                if (const row p = rows_.get(before); p != none && out_.tasks.ended[p] == unknown) return true;
            return false;
        }
        case kind::waited: {
            if (r.b == 0) {
                const row of = rows_.get(r.n);
                return of != none && out_.tasks.ended[of] == unknown;
            }
            const auto g = groups_.find(r.b);
            return g != groups_.end() && g->second.open > 0;
        }
        default: return false;
        }
    }

    // ---- tasks

    row row_of(std::uint32_t number) {
        row of = rows_.get(number);
        if (of != none) return of;
        of = static_cast<row>(out_.tasks.number.size());
        task_table& t = out_.tasks;
        t.number.push_back(number);
        t.name.push_back(0);
        t.parent.push_back(0);
        t.group.push_back(0);
        t.origin.push_back(255);
        t.start.push_back(255);
        t.outcome.push_back(255);
        t.worker.push_back(-1);
        t.spawned.push_back(unknown);
        t.began.push_back(unknown);
        t.ended.push_back(unknown);
        t.own.push_back(0);
        ways_.emplace_back();
        unsure_.push_back(false);
        unjoined_.emplace_back();
        rows_.set(number, of);
        return of;
    }

    void spawn(const record& r, std::size_t stream, std::int64_t when) {
        // Numbers come again when all have been given out.
        if (const row before = rows_.get(task_of(r)); before != none && out_.tasks.spawned[before] != unknown)
            rows_.set(task_of(r), none);
        const row t = row_of(task_of(r));
        task_table& all = out_.tasks;
        all.name[t] = r.n;
        all.group[t] = r.b;
        all.origin[t] = r.what;
        all.spawned[t] = when;
        row parent = none;
        if (r.what == static_cast<std::uint8_t>(origin::share)) {
            parent = rows_.get(static_cast<std::uint32_t>(r.b));
            if (parent != none) all.parent[t] = all.number[parent];
        } else if (stream < workers_.size() && !workers_[stream].stack.empty()) {
            parent = workers_[stream].stack.back().task;
            all.parent[t] = all.number[parent];
        }
        ways_[t] = parent != none ? enter(t, ways_[parent]) : way{};
        if (r.what == static_cast<std::uint8_t>(origin::child)) ++groups_[r.b].open;
        // Forks in which a run of a graph spreads.
        constexpr auto own = static_cast<std::uint8_t>(origin::runtime);
        if (r.what == static_cast<std::uint8_t>(origin::fork) && parent != none && all.origin[parent] == own)
            all.origin[t] = own;
    }

    // ---- stacks

    /// The top of the stack has run up to here.
    void advance(std::size_t w, std::int64_t when) {
        worker_state& at_work = workers_[w];
        const std::int64_t since = std::exchange(at_work.since, when);
        if (at_work.stack.empty() || when <= since) return;
        const row t = at_work.stack.back().task;
        if (who_) who_->ran(t, when - since);
        out_.tasks.own[t] += when - since;
        if (ways_[t].last == none) ways_[t] = enter(t, ways_[t]);
        ways_[t].length += when - since;
        segment_table& s = out_.segments;
        const std::uint32_t number = out_.tasks.number[t];
        if (const std::size_t last = at_work.last_segment;
            last != none && s.task[last] == number && s.end[last] == since) {
            s.end[last] = when;
            return;
        }
        at_work.last_segment = s.task.size();
        s.worker.push_back(static_cast<std::int32_t>(w));
        s.task.push_back(number);
        s.begin.push_back(since);
        s.end.push_back(when);
    }

    void begin(const record& r, std::size_t w, std::int64_t when) {
        const row t = row_of(task_of(r));
        task_table& all = out_.tasks;
        if (all.began[t] != unknown) return; // it cannot begin twice: this is no trace of ours
        all.began[t] = when;
        all.worker[t] = static_cast<std::int32_t>(w);
        all.start[t] = r.what;
        for (const auto& [_, before] : predecessors(task_of(r)))
            if (const row p = rows_.get(before); p != none) follows(t, ways_[p]);
        workers_[w].stack.push_back({t, r.what == static_cast<std::uint8_t>(start::below)});
    }

    void end(const record& r, std::size_t w, std::int64_t when) {
        const row t = row_of(task_of(r));
        task_table& all = out_.tasks;
        if (all.ended[t] != unknown) return;
        all.ended[t] = when;
        all.outcome[t] = r.what;
        follows(t, unjoined_[t]);
        auto& stack = workers_[w].stack;
        const auto found = std::ranges::find(stack, t, &entry::task);
        if (found == stack.end()) {
            unsure_[t] = true;
        } else {
            for (auto above = found + 1; above != stack.end(); ++above) unsure_[above->task] = true;
            stack.erase(found, stack.end());
        }
        if (all.origin[t] == static_cast<std::uint8_t>(origin::child)) {
            group_state& g = groups_[all.group[t]];
            --g.open;
            g.longest = longer(g.longest, ways_[t]);
        } else if (all.origin[t] == static_cast<std::uint8_t>(origin::share)) {
            // What comes after the task comes after all its shares.
            if (const row of = rows_.get(static_cast<std::uint32_t>(all.group[t])); of != none)
                follows(of, ways_[t]);
        } else if (all.origin[t] == static_cast<std::uint8_t>(origin::graph)) {
            if (const row p = rows_.get(all.parent[t]); p != none) {
                way& longest = of_graphs_[p];
                longest = longer(longest, ways_[t]);
            }
        }
        if (all.start[t] == static_cast<std::uint8_t>(start::inside)) {
            if (!stack.empty()) follows(stack.back().task, ways_[t]); // as after any call
        } else if (all.origin[t] == static_cast<std::uint8_t>(origin::fork) ||
                   all.origin[t] == static_cast<std::uint8_t>(origin::runtime)) {
            if (const row p = rows_.get(all.parent[t]); p != none)
                unjoined_[p] = longer(unjoined_[p], ways_[t]);
        }
    }

    // ---- the longest paths

    static const way& longer(const way& a, const way& b) { return a.length < b.length ? b : a; }
    /// The way on, in task `t`.
    way enter(row t, const way& from) {
        steps_.push_back({t, from.last, from.length});
        return {from.length, static_cast<std::uint32_t>(steps_.size() - 1)};
    }
    void follows(row t, const way& w) {
        if (ways_[t].length < w.length) ways_[t] = enter(t, w);
    }
    void trace_back(const way& w) {
        critical_path& c = out_.critical;
        std::int64_t end = w.length;
        for (std::uint32_t s = w.last; s != none; s = steps_[s].before) {
            if (steps_[s].begin < end) {
                c.task.push_back(steps_[s].task);
                c.begin.push_back(steps_[s].begin);
                c.end.push_back(end);
            }
            end = steps_[s].begin;
        }
        std::ranges::reverse(c.task);
        std::ranges::reverse(c.begin);
        std::ranges::reverse(c.end);
    }

    // ---- stacks put aside

    void suspend(const record& r, std::size_t w, std::int64_t when) {
        // The worker goes on with nothing: what lies below shares the stack of the task.
        auto& stack = workers_[w].stack;
        if (stack.empty()) return;
        put_aside(row_of(task_of(r)), std::exchange(stack, {}), none, when);
    }

    void put_aside(row t, std::vector<entry> what, row child, std::int64_t when) {
        asides_[t] = {std::move(what), child, when};
    }

    void expose(const record& r, std::size_t w, std::int64_t when) {
        const row t = rows_.get(task_of(r));
        if (t == none) return;
        auto& stack = workers_[w].stack;
        const auto first = std::ranges::find(stack, t, &entry::task);
        if (first == stack.end()) return; // the second closure of a join
        const auto child = std::find_if(first + 1, stack.end(), [](const entry& e) { return e.is_below; });
        if (child == stack.end()) return;
        put_aside(t, {first, child}, child->task, when);
        stack.erase(first, child);
    }

    void come_back(const record& r, std::size_t w, std::int64_t when) {
        const row t = rows_.get(task_of(r));
        const auto found = t == none ? asides_.end() : asides_.find(t);
        auto& stack = workers_[w].stack;
        if (found == asides_.end()) {
            if (r.what_kind == kind::returned) return; // the second closure of a join
            const row of = row_of(task_of(r));
            unsure_[of] = true;
            stack.push_back({of, false});
            return;
        }
        aside a = std::move(found->second);
        asides_.erase(found);
        if (overlaps_gap(a.since, when))
            for (const entry& e : a.stack) unsure_[e.task] = true;
        // An offer that nobody took: the child is still there.
        const auto child = std::ranges::find(stack, a.child, &entry::task);
        stack.insert(a.child == none ? stack.end() : child, a.stack.begin(), a.stack.end());
        if (const auto p = released_.find(t); p != released_.end()) {
            follows(stack.back().task, p->second);
            released_.erase(p);
        }
    }

    void waited(const record& r, std::size_t w) {
        const auto& stack = workers_[w].stack;
        if (stack.empty()) return;
        if (r.b == 0) {
            if (const row of = rows_.get(r.n); of != none) follows(stack.back().task, ways_[of]);
            return;
        }
        const auto g = groups_.find(r.b);
        if (g == groups_.end()) {
            // The group of a graph's tasks, which carry the number of the run instead.
            if (const auto p = of_graphs_.find(stack.back().task); p != of_graphs_.end())
                follows(stack.back().task, p->second);
            return;
        }
        follows(stack.back().task, g->second.longest);
        if (g->second.open <= 0) groups_.erase(g); // the address may be another group's next
    }

    /// Who lets another one go on comes before what that one does then.
    void ready(const record& r, std::size_t w) {
        constexpr std::uint8_t unblocked = 5;
        if (r.what != unblocked || workers_[w].stack.empty()) return;
        const row t = rows_.get(task_of(r));
        if (t == none) return;
        way& longest = released_[t];
        longest = longer(longest, ways_[workers_[w].stack.back().task]);
    }

    /// Events of this worker are missing since `before`: what it did meanwhile is not known.
    void lose(std::size_t w, std::int64_t before, std::int64_t when) {
        worker_state& of = workers_[w];
        advance(w, before);
        for (const entry& e : of.stack) unsure_[e.task] = true;
        of.stack.clear();
        of.since = when;
        of.search = of.sleep = unknown;
    }

    // ---- idle stretches

    void add_idle(std::size_t w, bool asleep, std::int64_t begin, std::int64_t end) {
        if (end <= begin) return;
        out_.idle.worker.push_back(static_cast<std::int32_t>(w));
        out_.idle.asleep.push_back(asleep);
        out_.idle.begin.push_back(begin);
        out_.idle.end.push_back(end);
    }
    /// A worker that sleeps does not search.
    void turn(std::size_t w, kind k, std::int64_t when) {
        worker_state& of = workers_[w];
        if (of.sleep != unknown) add_idle(w, true, of.sleep, when);
        if (of.search != unknown && of.sleep == unknown) add_idle(w, false, of.search, when);
        of.sleep = k == kind::sleep ? when : unknown;
        if (k == kind::found)
            of.search = unknown;
        else if (k == kind::search || of.search != unknown)
            of.search = when;
    }

    void apply(const record& r, std::size_t s, std::int64_t when, std::int64_t before) {
        const bool is_worker = s < workers_.size();
        if (is_worker && r.what_kind != kind::lost) advance(s, when);
        const row top = is_worker && !workers_[s].stack.empty() ? workers_[s].stack.back().task : none;
        if (r.what_kind == kind::spawn) spawn(r, s, when);
        if (who_) who_->event(r, top, rows_.get(task_of(r)), when);
        if (!is_worker) return;
        if (r.what_kind == kind::lost) return lose(s, before, when);
        switch (r.what_kind) {
        case kind::begin: return begin(r, s, when);
        case kind::end: return end(r, s, when);
        case kind::suspend: return suspend(r, s, when);
        case kind::expose: return expose(r, s, when);
        case kind::resume:
        case kind::returned: return come_back(r, s, when);
        case kind::waited: return waited(r, s);
        case kind::ready: return ready(r, s);
        case kind::search:
        case kind::found:
        case kind::sleep:
        case kind::wake: return turn(s, r.what_kind, when);
        default: return;
        }
    }

    void finish() {
        for (std::size_t w = 0; w < workers_.size(); ++w) {
            // A worker's last event, not the trace's: where the file was cut, nothing is known of the rest.
            advance(w, std::max(workers_[w].since, streams_[w].now));
            if (workers_[w].search != unknown || workers_[w].sleep != unknown)
                turn(w, kind::found, complete_ ? out_.last : streams_[w].now);
        }
        for (const auto& [task, a] : asides_)
            for (const entry& e : a.stack)
                if (overlaps_gap(a.since, out_.last)) unsure_[e.task] = true;
        way longest;
        for (row t = 0; t < unsure_.size(); ++t) {
            if (unsure_[t] || out_.tasks.began[t] == unknown) out_.tasks.own[t] = unknown;
            longest = longer(longest, ways_[t]);
        }
        out_.span = longest.length;
        trace_back(longest);
    }

    struct group_state {
        std::int64_t open = 0; ///< children that have not ended
        way longest{};         ///< of those that have
    };

    const std::span<const record> records_;
    const bool complete_;
    observer* const who_;
    tables out_;
    row_index rows_;
    std::vector<bool> unsure_;  ///< by row: lost events may hide a part of its own time
    std::vector<way> ways_;     ///< by row: the longest path so far, or to its end
    std::vector<way> unjoined_; ///< by row: those of its forks that have ended elsewhere
    std::vector<step> steps_;
    std::vector<worker_state> workers_;
    std::vector<stream_state> streams_; ///< the last one is `outside`
    std::vector<gap> gaps_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_; ///< task, one it waits for; sorted
    std::unordered_map<std::uint64_t, group_state> groups_;      ///< by address
    std::unordered_map<row, way> of_graphs_; ///< by who runs them: the longest path of their tasks
    std::unordered_map<row, aside> asides_;
    std::unordered_map<row, way> released_; ///< by suspended task: the path that leads to its going on
};

} // namespace

tables walk(std::span<const record> records, int workers, bool complete, observer* who) {
    return walker(records, workers, complete, who).run();
}

} // namespace weft::trace
