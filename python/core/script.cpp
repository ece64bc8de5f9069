#include "script.hpp"

#include "walk.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <unordered_set>
#include <utility>

namespace weft::replay {

namespace {

using trace::kind;
using trace::origin;
using trace::record;

std::uint32_t low(std::uint64_t n) { return static_cast<std::uint32_t>(n); }

/// Hears the walk over the records, and writes down what each task did.
class writer final : public trace::observer {
public:
    /// `cores_name`: the number of the name "cores".
    writer(int workers, bool is_virtual, times from, bool has_costs, std::uint32_t cores_name)
        : from_(from)
        , is_virtual_(is_virtual)
        , has_costs_(has_costs)
        , cores_name_(cores_name)
        , last_said_(static_cast<std::size_t>(workers) + 1) {}

    void ran(row t, std::int64_t ns) override {
        if (from_ == times::measured && !is_virtual_) compute(t, ns);
    }

    void event(const record& r, row top, row about, std::int64_t when) override {
        last_ = std::max(last_, when);
        if (top != no_row && is_machinery(top)) top = no_row;
        switch (r.what_kind) {
        case kind::spawn: return spawn(r, top, about, when);
        case kind::group: {
            said(r) = {.is_group = true, .number = group_at(r.a)};
            out_.groups[said(r).number].name = r.n;
            return;
        }
        case kind::hint:
        case kind::data:
        case kind::need: return describe(r);
        case kind::edge: edges_.emplace_back(low(r.a), low(r.b)); return;
        case kind::graph: return graph(r, top, when);
        case kind::begin:
            if (is_fork(about) && r.what == static_cast<std::uint8_t>(trace::start::inside)) join(top, about);
            return;
        case kind::end: return ends(about, when);
        case kind::wait: return wait(r, top);
        case kind::waited:
            if (r.b) {
                groups_.erase(r.b); // the address may be another group's next
                if (top != no_row) at_groups_.erase(top);
            }
            return;
        case kind::suspend: return suspend(r, top, about, when);
        case kind::ready: return ready(r, top, about, when);
        case kind::cost:
            if (from_ == times::declared) say(top, {.a = r.a, .what = act::cost, .how = r.what});
            return;
        case kind::activity:
            if (from_ == times::measured && is_virtual_ && r.what == 0 && r.b)
                compute(row_of(low(r.b)), when - as_time(r.a));
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

    script finish() {
        if (from_ == times::declared && !has_costs_)
            throw std::invalid_argument(
                "the times of the tasks are to be those that they declare; given: a trace of a program that "
                "never calls weft::cost; allowed: measured times");
        for (const auto& [before, after] : edges_)
            if (const row a = row_of(before), b = row_of(after); a != no_row && b != no_row)
                out_.edges.push_back({.of = b, .after = a});
        for (batch& b : out_.batches) b.ended = std::max({b.began, b.ended, open_roots_ > 0 ? last_ : 0});
        sort(out_.edges);
        sort(out_.uses);
        sort(out_.needs);
        sort(out_.shares);
        gather();
        forget_lost_signals();
        return std::move(out_);
    }

private:
    struct subject { ///< of hints and the like
        bool is_group = false;
        std::uint32_t number = no_row;
    };
    struct mark { ///< of a task
        bool is_machinery = false, is_fork = false;
        std::uint32_t last_action = no_row; ///< in all_
        bool is_root = false;
        std::uint32_t in_run = no_row; ///< of a graph
    };

    template <class Table>
    static void sort(Table& t) {
        std::ranges::stable_sort(t, {}, [](const auto& e) { return e.of; });
    }
    static std::int64_t as_time(std::uint64_t at) { return static_cast<std::int64_t>(at); }

    row row_of(std::uint32_t number) const {
        const auto found = rows_.find(number);
        return found == rows_.end() ? no_row : found->second;
    }
    mark& at(row t) {
        if (marks_.size() <= t) {
            marks_.resize(t + 1);
            out_.tasks.resize(t + 1);
        }
        return marks_[t];
    }
    /// The runtime's own, such as the forks in which a run of a graph spreads.
    bool is_machinery(row t) { return at(t).is_machinery; }
    bool is_fork(row t) { return t != no_row && at(t).is_fork; }

    /// The time of a task that was measured on a thread holds its waits for memory and disks.
    bool waits_are_apart() const { return from_ == times::declared || is_virtual_; }

    void say(row t, const action& a) {
        if (t == no_row) return;
        at(t).last_action = static_cast<std::uint32_t>(all_.size());
        all_.push_back({t, a});
    }
    void compute(row t, std::int64_t ns) {
        if (t == no_row || ns <= 0 || is_machinery(t)) return;
        const std::uint32_t last = at(t).last_action;
        if (last != no_row && all_[last].second.what == act::compute)
            all_[last].second.a += static_cast<std::uint64_t>(ns);
        else
            say(t, {.a = static_cast<std::uint64_t>(ns), .what = act::compute});
    }

    // ---- tasks

    void spawn(const record& r, row top, row t, std::int64_t when) {
        rows_[low(r.a)] = t;
        mark& m = at(t);
        m = {};
        out_.tasks[t].hints.name = r.n;
        said(r) = {.is_group = false, .number = t};
        switch (static_cast<origin>(r.what)) {
        case origin::root: return top == no_row ? root(t, when) : say(top, {.n = t, .what = act::async});
        case origin::child:
            if (top == no_row) return root(t, when); // a plain thread's
            return say(top, {.a = group_at(r.b), .n = t, .what = act::spawn});
        case origin::fork:
            if (top == no_row) {
                m.is_machinery = true;
                return;
            }
            m.is_fork = true;
            return say(top, {.n = t, .what = act::fork});
        case origin::graph: {
            const auto known = run_of_.find(low(r.b));
            if (known == run_of_.end()) return;
            m.in_run = known->second;
            run& of = runs_[m.in_run];
            if (low(r.a) - of.first < of.count) {
                out_.graphs[m.in_run].push_back(t);
                return;
            }
            ++of.left;
            if (top != no_row) return say(top, {.a = m.in_run, .n = t, .what = act::add});
            out_.graphs[m.in_run].push_back(t); // a plain thread's: it might as well have come before
            return;
        }
        case origin::share: out_.shares.push_back({.of = row_of(low(r.b)), .task = t}); return;
        case origin::runtime: m.is_machinery = true; return;
        }
    }

    subject& said(const record& r) {
        return last_said_[r.stream == trace::outside ? last_said_.size() - 1 : r.stream];
    }

    void describe(const record& r) {
        const subject& of = said(r);
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

    /// A plain thread hands something in.
    void root(row t, std::int64_t when) { hand_in({.is_graph = false, .number = t, .at = when}); }
    void hand_in(batch::root r) {
        if (open_roots_ == 0) out_.batches.push_back({.began = r.at});
        batch& b = out_.batches.back();
        r.at -= b.began;
        b.roots.push_back(r);
        ++open_roots_;
        if (!r.is_graph) at(r.number).is_root = true;
    }
    void ends(row t, std::int64_t when) {
        if (t == no_row) return;
        const mark& m = at(t);
        const bool ends_run = m.in_run != no_row && --runs_[m.in_run].left == 0 && runs_[m.in_run].is_root;
        if (!ends_run && !m.is_root) return;
        out_.batches.back().ended = when;
        --open_roots_;
    }

    // ---- groups, joins, graphs

    std::uint32_t group_at(std::uint64_t address) {
        const auto [at, is_new] = groups_.emplace(address, static_cast<std::uint32_t>(out_.groups.size()));
        if (is_new) out_.groups.emplace_back();
        return at->second;
    }

    void join(row top, row forked) { say(top, {.n = forked, .what = act::join}); }

    void wait(const record& r, row top) {
        if (top == no_row) return;
        if (r.b != 0) at_groups_.insert(top);
        if (r.b == 0) {
            if (const row forked = row_of(r.n); is_fork(forked)) join(top, forked);
        } else if (const auto g = groups_.find(r.b); g != groups_.end()) {
            say(top, {.n = g->second, .what = act::wait});
        } else if (const auto runs = started_.find(top); runs != started_.end()) {
            // The group of a run of a graph has no children.
            for (const std::uint32_t number : runs->second) say(top, {.n = number, .what = act::finish});
            started_.erase(runs);
        }
    }

    void graph(const record& r, row top, std::int64_t when) {
        const auto number = static_cast<std::uint32_t>(out_.graphs.size());
        const auto count = low(r.b);
        out_.graphs.emplace_back();
        run_of_[low(r.a)] = number;
        runs_.push_back({.first = low(r.a), .count = count, .left = count, .is_root = top == no_row});
        if (top != no_row) {
            say(top, {.n = number, .what = act::start});
            started_[top].push_back(number);
        } else if (count > 0) {
            hand_in({.is_graph = true, .number = number, .at = when});
        }
    }

    // ---- waiting for something else

    void suspend(const record& r, row top, row t, std::int64_t when) {
        constexpr std::uint8_t unblocked = 5, yielded = 10;
        if (t == no_row || top == no_row) return;
        if (r.what == yielded) return say(t, {.what = act::yield});
        if (r.what != unblocked || at_groups_.contains(t)) return;
        if (const auto early = given_.find(t); early != given_.end()) {
            say(t, {.n = early->second, .what = act::await});
            given_.erase(early);
            return;
        }
        waiting_[t] = {static_cast<std::uint32_t>(all_.size()), when};
        say(t, {.what = act::sleep});
    }

    void ready(const record& r, row top, row t, std::int64_t when) {
        constexpr std::uint8_t unblocked = 5;
        if (r.what != unblocked || t == no_row || at_groups_.contains(t)) return;
        const auto waiting = waiting_.find(t);
        if (top == no_row) { // a timer, or a thread that is no worker
            if (waiting != waiting_.end()) {
                all_[waiting->second.action].second.a =
                    static_cast<std::uint64_t>(std::max<std::int64_t>(0, when - waiting->second.since));
                waiting_.erase(waiting);
            }
            return;
        }
        const std::uint32_t signal = out_.signals++;
        say(top, {.n = signal, .what = act::release});
        if (waiting == waiting_.end()) {
            given_[t] = signal; // it is about to suspend
            return;
        }
        all_[waiting->second.action].second = {.n = signal, .what = act::await};
        waiting_.erase(waiting);
    }

    /// From one list in the order of time to one for each task.
    void gather() {
        std::vector<std::uint32_t> next(out_.tasks.size() + 1, 0);
        for (const auto& [t, a] : all_) ++next[t + 1];
        for (std::size_t t = 0; t < out_.tasks.size(); ++t) {
            next[t + 1] += next[t];
            out_.tasks[t].first = next[t];
            out_.tasks[t].last = next[t + 1];
        }
        out_.actions.resize(all_.size());
        for (const auto& [t, a] : all_) out_.actions[next[t]++] = a;
    }

    /// Where events are missing, nobody may spawn the task that gives a signal.
    void forget_lost_signals() {
        std::vector<bool> given(out_.signals, false), seen(out_.tasks.size(), false);
        std::vector<row> open;
        const auto reach = [&](row t) {
            if (t == no_row || seen[t]) return;
            seen[t] = true;
            open.push_back(t);
        };
        const auto reach_graph = [&](std::uint32_t g) { std::ranges::for_each(out_.graphs[g], reach); };
        for (const batch& b : out_.batches)
            for (const batch::root& r : b.roots) r.is_graph ? reach_graph(r.number) : reach(r.number);
        while (!open.empty()) {
            const row t = open.back();
            open.pop_back();
            for (const share& s : of_task(out_.shares, t)) reach(s.task);
            for (std::uint32_t i = out_.tasks[t].first; i < out_.tasks[t].last; ++i) {
                const action& a = out_.actions[i];
                switch (a.what) {
                case act::spawn:
                case act::fork:
                case act::async:
                case act::add: reach(a.n); break;
                case act::start: reach_graph(a.n); break;
                case act::release: given[a.n] = true; break;
                default: break;
                }
            }
        }
        for (action& a : out_.actions)
            if (a.what == act::await && !given[a.n]) a = {.what = act::sleep};
    }

    struct run { ///< of a graph
        std::uint32_t first, count;
        std::uint32_t left;   ///< tasks that have not ended
        bool is_root = false; ///< a plain thread began it
    };
    struct pending {
        std::uint32_t action;
        std::int64_t since;
    };

    const times from_;
    const bool is_virtual_, has_costs_;
    const std::uint32_t cores_name_;
    script out_;
    std::vector<std::pair<row, action>> all_;
    std::vector<mark> marks_; ///< by row
    std::unordered_map<std::uint32_t, row> rows_;
    std::vector<subject> last_said_; ///< by stream; the last one: outside
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
    std::unordered_map<std::uint64_t, std::uint32_t> groups_; ///< by address, while it is open
    std::vector<run> runs_;                                   ///< beside script::graphs
    std::unordered_map<std::uint32_t, std::uint32_t> run_of_; ///< by the number of the first task
    std::unordered_map<row, std::vector<std::uint32_t>> started_;
    std::unordered_set<row>
        at_groups_; ///< in the wait of a group, also of a future's or a graph's: it says all
    std::unordered_map<row, pending> waiting_;     ///< suspended: for whom is not known yet
    std::unordered_map<row, std::uint32_t> given_; ///< signals that came before their task was suspended
    int open_roots_ = 0;
    std::int64_t last_ = 0;
};

} // namespace

script read_script(std::span<const record> records, int workers, bool complete, bool is_virtual,
                   const std::unordered_map<std::uint32_t, std::string>& names, times from) {
    const bool has_costs =
        std::ranges::any_of(records, [](const record& r) { return r.what_kind == kind::cost; });
    std::vector<std::string> by_number(1);
    std::uint32_t cores_name = no_row;
    for (const auto& [number, name] : names) {
        if (by_number.size() <= number) by_number.resize(number + 1);
        by_number[number] = name;
        if (name == "cores") cores_name = number;
    }
    writer w(workers, is_virtual, from, has_costs, cores_name);
    trace::walk(records, workers, complete, &w);
    script s = w.finish();
    s.names = std::move(by_number);
    return s;
}

} // namespace weft::replay
