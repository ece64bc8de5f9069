#include "trace/walk/walk.hpp"

#include "trace/walk/gaps.hpp"
#include "trace/walk/merge.hpp"
#include "trace/walk/paths.hpp"
#include "trace/walk/stacks.hpp"
#include "trace/walk/streams.hpp"
#include "trace/walk/stretches.hpp"
#include "trace/walk/tasks.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::trace {

namespace {

std::uint32_t task_of(const record& r) { return static_cast<std::uint32_t>(r.a); }

class walker final : public record_sink {
public:
    walker(std::span<const record> records, int workers, bool complete, observer* each)
        : complete_(complete)
        , observer_(each)
        , streams_(records, workers)
        , gaps_(records, streams_)
        , tasks_(records)
        , stacks_(streams_.workers(), tasks_, gaps_)
        , segments_(streams_.workers())
        , idle_(streams_.workers())
        , since_(streams_.workers(), 0) {
        for (const record& r : records)
            if (r.what_kind == kind::edge) edges_.emplace_back(static_cast<std::uint32_t>(r.b), task_of(r));
        std::ranges::sort(edges_);
    }

    tables run() {
        merged m = merge(streams_, *this);
        for (std::size_t w = 0; w < streams_.workers(); ++w) {
            // Up to the worker's last event, not the trace's: where the file was cut, the rest is not known.
            advance(w, std::max(since_[w], streams_.now(w)));
            idle_.finish(w, complete_ ? m.last : streams_.now(w));
        }
        stacks_.finish(m.last);
        const path longest = paths_.longest();
        return {.order = std::move(m.order),
                .tasks = tasks_.finish(),
                .segments = std::move(segments_.table),
                .idle = std::move(idle_.table),
                .first = m.first,
                .last = m.last,
                .span = longest.length,
                .critical = paths_.steps_of(longest),
                .disorder = m.disorder};
    }

    bool must_wait(const record& r) const override {
        switch (r.what_kind) {
        case kind::resume: return !stacks_.is_aside(tasks_.find(task_of(r)));
        case kind::begin: {
            if (tasks_.find(task_of(r)) == no_row) return true;
            return std::ranges::any_of(predecessors(task_of(r)), [&](const auto& e) {
                const row before = tasks_.find(e.second);
                return before != no_row && !has_ended(before);
            });
        }
        case kind::waited: {
            if (r.b == 0) {
                const row forked = tasks_.find(r.n);
                return forked != no_row && !has_ended(forked);
            }
            const auto g = groups_.find(r.b);
            return g != groups_.end() && g->second.open > 0;
        }
        default: return false;
        }
    }

    void take(const record& r, std::size_t s, std::int64_t when, std::int64_t before) override {
        const bool is_worker = s < streams_.workers();
        if (is_worker && r.what_kind != kind::lost) advance(s, when);
        const row top = is_worker ? stacks_.top(s) : no_row;
        if (r.what_kind == kind::spawn) spawn(r, top, when);
        if (observer_) observer_->event(r, top, tasks_.find(task_of(r)), when);
        if (!is_worker) return;
        switch (r.what_kind) {
        case kind::lost: return lose(s, before, when);
        case kind::begin: return begin(r, s, when);
        case kind::end: return end(r, s, when);
        case kind::suspend:
            if (top != no_row) stacks_.suspend(s, row_of(task_of(r)), when);
            return;
        case kind::expose:
            if (const row t = tasks_.find(task_of(r)); t != no_row) stacks_.expose(s, t, when);
            return;
        case kind::resume:
        case kind::returned: return restore(r, s, when);
        case kind::waited: return waited(r, top);
        case kind::ready: return ready(r, top);
        case kind::search:
        case kind::found:
        case kind::sleep:
        case kind::wake: return idle_.turn(s, r.what_kind, when);
        default: return;
        }
    }

private:
    using edge = std::pair<std::uint32_t, std::uint32_t>; ///< task, task that it waits for

    struct group_state {
        std::int64_t open = 0; ///< children that have not ended
        path longest{};        ///< of those that have
    };

    bool has_ended(row t) const { return tasks_.table.ended[t] != unknown; }
    bool is_of(row t, origin from) const { return tasks_.table.origin[t] == static_cast<std::uint8_t>(from); }

    std::span<const edge> predecessors(std::uint32_t number) const {
        const auto found = std::ranges::equal_range(edges_, number, {}, &edge::first);
        return {found.begin(), found.end()};
    }

    row row_of(std::uint32_t number) { return sized(tasks_.find_or_add(number)); }
    row sized(row t) {
        if (unjoined_.size() < tasks_.size()) {
            unjoined_.resize(tasks_.size());
            paths_.resize(tasks_.size());
        }
        return t;
    }

    /// The top of the stack of worker `w` has run until `when`.
    void advance(std::size_t w, std::int64_t when) {
        const std::int64_t since = std::exchange(since_[w], when);
        const row t = stacks_.top(w);
        if (t == no_row || when <= since) return;
        if (observer_) observer_->ran(t, when - since);
        tasks_.table.own[t] += when - since;
        paths_.run(t, when - since);
        segments_.add(w, tasks_.table.number[t], since, when);
    }

    void spawn(const record& r, row top, std::int64_t when) {
        const row t = sized(tasks_.spawn(task_of(r)));
        task_table& all = tasks_.table;
        all.name[t] = r.n;
        all.group[t] = r.b;
        all.origin[t] = r.what;
        all.spawned[t] = when;
        const bool is_share = is_of(t, origin::share);
        const row parent = is_share ? tasks_.find(static_cast<std::uint32_t>(r.b)) : top;
        if (parent != no_row) {
            all.parent[t] = all.number[parent];
            if (is_share && r.n == 0) all.name[t] = all.name[parent]; // its task knows the place
        }
        paths_.spawn(t, parent);
        if (is_of(t, origin::child)) ++groups_[r.b].open;
        // The forks by which a run of a graph spreads are the runtime's own.
        if (is_of(t, origin::fork) && parent != no_row && is_of(parent, origin::runtime)) {
            all.origin[t] = static_cast<std::uint8_t>(origin::runtime);
            all.name[t] = 0; // their place is in the library
        }
    }

    void begin(const record& r, std::size_t w, std::int64_t when) {
        const row t = row_of(task_of(r));
        task_table& all = tasks_.table;
        if (all.began[t] != unknown) return; // a task cannot begin twice: the trace is damaged
        all.began[t] = when;
        all.worker[t] = static_cast<std::int32_t>(w);
        all.start[t] = r.what;
        for (const auto& [_, before] : predecessors(task_of(r)))
            if (const row p = tasks_.find(before); p != no_row) paths_.follow(t, paths_.of(p));
        stacks_.push(w, t, r.what == static_cast<std::uint8_t>(start::below));
    }

    void end(const record& r, std::size_t w, std::int64_t when) {
        const row t = row_of(task_of(r));
        task_table& all = tasks_.table;
        if (has_ended(t)) return;
        all.ended[t] = when;
        all.outcome[t] = r.what;
        paths_.follow(t, unjoined_[t]);
        stacks_.remove(w, t);
        lead_on(t, stacks_.top(w));
    }

    /// What comes after the end of `t` comes after its longest path. `top`: what the worker runs next.
    void lead_on(row t, row top) {
        const task_table& all = tasks_.table;
        if (is_of(t, origin::child)) {
            group_state& g = groups_[all.group[t]];
            --g.open;
            g.longest = longer(g.longest, paths_.of(t));
        } else if (is_of(t, origin::share)) {
            // What comes after a moldable task comes after all its shares.
            if (const row whole = tasks_.find(static_cast<std::uint32_t>(all.group[t])); whole != no_row)
                paths_.follow(whole, paths_.of(t));
        } else if (is_of(t, origin::graph)) {
            if (const row p = tasks_.find(all.parent[t]); p != no_row) {
                path& longest = of_graphs_[p];
                longest = longer(longest, paths_.of(t));
            }
        }
        if (all.start[t] == static_cast<std::uint8_t>(start::inside)) {
            if (top != no_row) paths_.follow(top, paths_.of(t)); // as after any call
        } else if (is_of(t, origin::fork) || is_of(t, origin::runtime)) {
            if (const row p = tasks_.find(all.parent[t]); p != no_row)
                unjoined_[p] = longer(unjoined_[p], paths_.of(t));
        }
    }

    void restore(const record& r, std::size_t w, std::int64_t when) {
        const row t = tasks_.find(task_of(r));
        if (t == no_row || !stacks_.restore(w, t, when)) {
            if (r.what_kind == kind::returned) return; // the second closure of a join
            const row unseen = row_of(task_of(r));
            tasks_.doubt(unseen);
            return stacks_.push(w, unseen, false);
        }
        if (const auto p = released_.find(t); p != released_.end()) {
            paths_.follow(stacks_.top(w), p->second);
            released_.erase(p);
        }
    }

    void waited(const record& r, row top) {
        if (top == no_row) return;
        if (r.b == 0) {
            if (const row forked = tasks_.find(r.n); forked != no_row) paths_.follow(top, paths_.of(forked));
            return;
        }
        const auto g = groups_.find(r.b);
        if (g == groups_.end()) {
            // The group of a run of a graph: its tasks carry the number of the run instead.
            if (const auto p = of_graphs_.find(top); p != of_graphs_.end()) paths_.follow(top, p->second);
            return;
        }
        paths_.follow(top, g->second.longest);
        if (g->second.open <= 0) groups_.erase(g); // the address may be another group's next
    }

    /// What the released task does next comes after what the task that releases it has done.
    void ready(const record& r, row top) {
        if (r.what != reason_unblocked || top == no_row) return;
        const row t = tasks_.find(task_of(r));
        if (t == no_row) return;
        path& longest = released_[t];
        longest = longer(longest, paths_.of(top));
    }

    /// Events of this worker are missing between `before` and `when`: what it did meanwhile is not known.
    void lose(std::size_t w, std::int64_t before, std::int64_t when) {
        advance(w, before);
        stacks_.lose(w);
        since_[w] = when;
        idle_.lose(w);
    }

    const bool complete_;
    observer* const observer_;
    streams streams_;
    const gaps gaps_;
    tasks tasks_;
    stacks stacks_;
    segments segments_;
    idle_stretches idle_;
    paths paths_;
    std::vector<std::int64_t> since_; ///< by worker: its time up to here is accounted for
    std::vector<path> unjoined_;      ///< by row: the longest of its forks that have ended elsewhere
    std::vector<edge> edges_;         ///< sorted
    std::unordered_map<std::uint64_t, group_state> groups_; ///< by address
    std::unordered_map<row, path> of_graphs_; ///< by task that runs a graph: the longest path of its tasks
    std::unordered_map<row, path> released_;  ///< by suspended task: the longest path to its release
};

} // namespace

tables walk(std::span<const record> records, int workers, bool complete, observer* each) {
    return walker(records, workers, complete, each).run();
}

} // namespace weft::trace
