#include "play.hpp"

#include "machine/load.hpp"

#include <weft/graph.hpp>
#include <weft/weft.hpp>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>

namespace weft::replay {

namespace {

constexpr std::uint32_t to_the_end = no_row;

const void* address(std::uint64_t a) { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(a)); }

/// All virtual workers are one thread, and tasks take turns in calls of the library only: what they share
/// here needs no lock.
class player {
public:
    player(const script& s, double cycles_per_ns)
        : script_(s)
        , cycles_per_ns_(cycles_per_ns)
        , groups_(s.groups.size())
        , graphs_(s.graphs.size())
        , group_hints_(s.groups.size()) {
        for (std::size_t g = 0; g < s.groups.size(); ++g) group_hints_[g] = as_hints(s.groups[g]);
        for (std::uint32_t i = 0; i < s.signals; ++i) signals_.emplace_back(0);
    }

    void play(const batch::root& r) {
        if (r.is_graph) {
            start(r.number);
            finish(r.number);
        } else {
            play(r.number);
        }
    }

    /// What no task has waited for, from outside.
    void clean_up() {
        futures_.clear();
        for (auto& g : graphs_) g.reset();
        for (auto& g : groups_) g.reset();
    }

private:
    void play(row t) { play(script_.tasks[t].first, script_.tasks[t].last, to_the_end); }

    /// Until the task `until` is joined. Returns where to go on: behind that, or, where a closure was left by
    /// an exception and so not joined, at the join of a task around it.
    std::uint32_t play(std::uint32_t i, std::uint32_t end, row until) {
        while (i < end) {
            const action& a = script_.actions[i];
            switch (a.what) {
            case act::compute: cost(cycles(a.a)); break;
            case act::cost: cost(a.a, static_cast<work>(a.how)); break;
            case act::touch: touch(address(a.a), a.b, static_cast<access>(a.how)); break;
            case act::transfer: transfer(script_.names[a.n], a.a); break;
            case act::home:
                if (a.n == trace::nobody)
                    interleave(address(a.a), a.b);
                else
                    bind_to_node(address(a.a), a.b, static_cast<int>(a.n));
                break;
            case act::iteration: iteration(static_cast<int>(a.a)); break;
            case act::spawn:
                group_of(static_cast<std::uint32_t>(a.a)).run([this, t = a.n] { play(t); }, hints_of(a.n));
                break;
            case act::wait:
                if (groups_[a.n]) groups_[a.n]->wait();
                groups_[a.n].reset();
                break;
            case act::fork: {
                std::uint32_t next = i + 1;
                weft::join([&] { next = play(i + 1, end, a.n); }, [this, t = a.n] { play(t); },
                           {.second = hints_of(a.n)});
                i = next;
                continue;
            }
            case act::join:
                if (a.n == until) return i + 1;
                if (until != to_the_end) return i;
                break;
            case act::async: futures_.push_back(weft::async([this, t = a.n] { play(t); })); break;
            case act::start: start(a.n); break;
            case act::finish: finish(a.n); break;
            case act::add:
                if (auto& g = graphs_[a.a]) add(*g, a.n);
                break;
            case act::release: signals_[a.n].release(); break;
            case act::await: signals_[a.n].acquire(); break;
            case act::sleep: this_task::sleep_for(std::chrono::nanoseconds(a.a)); break;
            case act::yield: this_task::yield(); break;
            }
            ++i;
        }
        return i;
    }

    /// What a stretch leaves below a cycle comes with the next one.
    std::uint64_t cycles(std::uint64_t ns) {
        const double due = static_cast<double>(ns) * cycles_per_ns_ + fraction_;
        const auto whole = static_cast<std::uint64_t>(due);
        fraction_ = due - static_cast<double>(whole);
        return whole;
    }

    hints as_hints(const hint& h) const {
        hints out;
        out.work = h.work;
        out.bytes = h.bytes;
        out.name = script_.names[h.name];
        out.priority = h.priority;
        out.children = h.children;
        if (h.data_bytes > 0) {
            out.data_begin = address(h.data_begin);
            out.data_end = address(h.data_begin + h.data_bytes);
        }
        return out;
    }
    hints hints_of(row t) const { return as_hints(script_.tasks[t].hints); }

    task_group& group_of(std::uint32_t g) {
        if (!groups_[g]) groups_[g] = std::make_unique<task_group>(group_hints_[g]);
        return *groups_[g];
    }

    // ---- graphs

    void start(std::uint32_t g) {
        graphs_[g] = std::make_unique<live_graph>();
        for (const row t : script_.graphs[g]) add(*graphs_[g], t);
        graphs_[g]->dag.start();
    }
    void finish(std::uint32_t g) {
        if (graphs_[g]) graphs_[g]->dag.wait();
        graphs_[g].reset();
    }

    struct live_graph {
        std::unordered_map<std::uint32_t, datum> data{}; ///< those without an address, by number
        std::unordered_map<row, graph_task> tasks{};
        graph dag{graph_options{.record_accesses = true}};
    };

    void add(live_graph& to, row t) {
        std::vector<impl::data_clause> uses;
        for (const use& u : of_task(script_.uses, t)) {
            const auto mode = static_cast<impl::data_mode>(u.mode);
            if (u.first)
                uses.push_back({address(u.first), u.bytes, mode, nullptr});
            else
                uses.push_back(impl::data_clause::of(to.data[u.datum], mode));
        }
        std::vector<graph_task> after;
        for (const edge& e : of_task(script_.edges, t))
            if (const auto before = to.tasks.find(e.after); before != to.tasks.end())
                after.push_back(before->second);
        std::vector<impl::needs_clause> needs;
        std::vector<impl::cores_clause> cores;
        bool is_moldable = false;
        for (const need& n : of_task(script_.needs, t)) {
            if (!n.is_cores) {
                needs.push_back({script_.names[n.name], n.amount});
                continue;
            }
            cores.push_back({.count = static_cast<int>(n.amount),
                             .where = static_cast<within>(n.within),
                             .is_relaxed = (n.how & 1) != 0,
                             .is_hint = (n.how & 2) != 0});
            is_moldable = (n.how & 4) != 0;
        }
        graph_task& added = to.tasks[t];
        if (is_moldable)
            added = to.dag.add(moldable([this, t](int rank, int width) { play_share(t, rank, width); }),
                               hints_of(t), uses, after, needs, cores);
        else
            added = to.dag.add([this, t] { play(t); }, hints_of(t), uses, after, needs, cores);
    }

    /// Of another width than was recorded, each takes the shares whose turn it is.
    void play_share(row t, int rank, int width) {
        const auto others = of_task(script_.shares, t);
        for (std::size_t share = static_cast<std::size_t>(rank); share <= others.size();
             share += static_cast<std::size_t>(width))
            play(share == 0 ? t : others[share - 1].task);
    }

    const script& script_;
    const double cycles_per_ns_;
    double fraction_ = 0;
    std::vector<std::unique_ptr<task_group>> groups_;
    std::vector<std::unique_ptr<live_graph>> graphs_;
    std::vector<hints> group_hints_;
    std::deque<counting_semaphore<>> signals_;
    std::vector<future<void>> futures_;
};

void run_batch(player& with, const batch& b) {
    if (b.roots.size() == 1) return with.play(b.roots.front());
    std::vector<future<void>> all;
    for (const batch::root& r : b.roots)
        all.push_back(async([&with, r] {
            if (r.at > 0) this_task::sleep_for(std::chrono::nanoseconds(r.at));
            with.play(r);
        }));
    for (auto& f : all) f.get();
}

/// A nanosecond that was measured is one of the core that runs the model, as where costs are measured.
double cycles_per_nanosecond(const machine& m, bool is_virtual) {
    const auto classes = m.core_classes();
    const core_class& fastest = *std::ranges::max_element(classes, {}, &core_class::speed);
    const double cycles = fastest.frequency_mhz / 1e3 / fastest.speed;
    return is_virtual ? cycles : cycles * m.model().host_speed;
}

} // namespace

played play(const script& s, bool is_virtual, runtime_options o) {
    o.engine = "model";
    o.costs = "declared";
    const machine m = load_machine(o.machine);
    runtime rt(o);
    played out{.machine = m.name(), .workers = rt.workers()};
    player with(s, cycles_per_nanosecond(m, is_virtual));
    for (const batch& b : s.batches) {
        rt.run([&] { run_batch(with, b); });
        const double seconds = rt.stats().seconds;
        const double recorded = static_cast<double>(b.ended - b.began) * 1e-9;
        out.batches.push_back({seconds, recorded, rt.report(report_format::json)});
        out.seconds += seconds;
        out.recorded_seconds += recorded;
    }
    rt.run([&] { with.clean_up(); });
    return out;
}

} // namespace weft::replay
