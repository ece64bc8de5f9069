#include "policy/parts/assembly_queues.hpp"
#include "policy/parts/core_clusters.hpp"
#include "policy/parts/core_groups.hpp"
#include "policy/parts/elastic_places.hpp"
#include "policy/parts/kept_trace_table.hpp"
#include "policy/parts/molding_rules.hpp"
#include "policy/parts/performance_trace_table.hpp"
#include "policy/parts/plain_stealing.hpp"
#include "policy/parts/running_criticality.hpp"
#include "policy/parts/weight_threshold.hpp"
#include "policy/seam/registry.hpp"

#include "machine/machine.hpp"
#include "task/task_class.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Moldable tasks on elastic places, put where the trace table or the criticality says.
///
///   A. Rohlin, H. Fahlgren, M. Pericas: High performance scheduling of mixed-mode DAGs on heterogeneous multicores, 2018
///   (XiTAO); the places after M. Pericas: Elastic places, ACM TACO 2018.
///
/// A task of a graph that becomes ready goes to the queue of one worker, which `place` chooses (sections 3.2.1 and 3.2.2). A
/// worker takes from its queue, or steals at random. The worker that has got a moldable task chooses the place around itself,
/// as wide as the program says or as `mold` chooses (section 3.3), and puts the shares into the assembly queues of the place.
/// Each worker takes its shares first, and waits for no other worker. All other tasks are stolen at random.
///
/// Places lie on active workers only (ours). A worker that becomes inactive still runs the shares that were kept for it.
namespace weft::policies {
namespace {

constexpr knob xitao_knobs[] = {
    {"place", "critical-ptt", "random, critical, critical-ptt, weight",
     "who gets a task that becomes ready; random: the worker that made it ready; critical: a big core if it "
     "is critical, else a "
     "LITTLE one; critical-ptt: the fastest place for it if it is critical, else any core; weight: a big "
     "core if it gains much "
     "there"},
    {"mold", "both", "off, load, history, both",
     "the width of a task; off: as the program says; load: wider while cores are free; history: the least "
     "time x width; both: "
     "load first. Needs place=critical-ptt or weight, else off"},
    {"steal", "on", "on, off", "whether other workers may take a task that was placed and has not begun"},
    {"cross", "off", "on, off", "whether a place may lie in two clusters (ours)"},
    {"literal", "off", "on, off",
     "the formulas as they are printed: the first time counts a fifth, and history never makes a place "
     "narrower"},
    {"table", "none", "text",
     "a file that keeps the trace table over runs: read if it exists, and written at the end (ours); none: "
     "neither"},
};

enum class placing : std::uint8_t { random, critical, critical_ptt, weight };

class elastic_places final : public plain_stealing {
public:
    elastic_places(placing place, bool by_load, bool by_history, bool steals, bool crosses, bool literal,
                   std::string file)
        : place_(place)
        , by_load_(by_load)
        , by_history_(by_history)
        , steals_(steals)
        , crosses_(crosses)
        , literal_(literal)
        , file_(std::move(file)) {}

    requirements attach(const machine& m, policy_context& context) override {
        requirements need = attach_plain(context);
        const int workers = context.all().size();
        groups_.attach(m, context);
        clusters_.attach(m, context, crosses_);
        assembly_.attach(clusters_, workers);
        table_.attach(m, context, literal_);
        if (file_ != "none") kept_ = std::make_unique<kept_trace_table>(file_, m, context, table_);
        critical_.attach(workers);
        placed_ = std::make_unique<queue::locked_list<task>[]>(static_cast<std::size_t>(workers));
        need.task_bytes = sizeof(node);
        need.levels = true;
        need.resizable = true;
        need.most_width = power_of_two_below(std::min(clusters_.widest(), max_width));
        return need;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (!is_node(t, reason)) return plain_stealing::ready(w, t, reason);
        auto& own = t.data<node>();
        own.type = table_.type_of(class_of(t));
        if (kept_) kept_->comes(own.type, t);
        if (reason != ready_reason::granted) ready_.add(1); // granted: it was counted before
        const worker_id v = place_ == placing::random ? w : choose(w, t, own.type);
        if (!steals_ && place_ != placing::random) {
            placed_[static_cast<std::size_t>(v)].push_back(&t);
            return {v, {v, v + 1}};
        }
        if (v == w) return places_.put(w, t, reason);
        placement at = places_.put_behind(v, t);
        at.near = v;
        return at;
    }

    decision next(worker_id w, bool last_look) override {
        if (task* const share = assembly_.take(w)) return {share, w};
        if (task* const t = placed_[static_cast<std::size_t>(w)].try_pop_front()) return {t, w};
        if (last_look) { // what lies at workers that are no longer active
            const worker_id all = context_->all().last;
            for (worker_id v = context_->active().last; v < all; ++v)
                if (task* const t = placed_[static_cast<std::size_t>(v)].try_pop_front()) return {t, v};
        }
        return next_plain(w, last_look);
    }

    elastic_place mold(worker_id w, task& t) override {
        const workers cluster = active_part(clusters_.members(clusters_.of(w)));
        const elastic_place hinted = place_around(w, t.width(), cluster);
        const int ready = ready_.add(-1); // this task is one of them
        if (by_load_) {
            const int free = std::max(1, context_->active().size() - busy_.load_relaxed());
            if (const auto wide = width_by_load(hinted.width, free, ready))
                return place_around(w, *wide, cluster);
        }
        if (!by_history_) return hinted;
        const int type = t.data<node>().type,
                  widest = power_of_two_below(std::min(cluster.size(), max_width));
        const int width = width_by_history(hinted.width, widest, times_of(w, type, cluster), literal_);
        return place_around(w, width, cluster);
    }

    void assemble(worker_id, std::span<task* const> shares, elastic_place at) override {
        for (task* const t : shares) t->data<node>().leader = at.leader;
        busy_.add(at.width);
        assembly_.put(shares, at);
    }
    bool keeps_share(worker_id w) override { return assembly_.has(w); }

    void started(worker_id w, task& t) override {
        if (t.graph() == 0) return;
        auto& own = t.data<node>();
        if (!t.is_share()) { // it has not been molded
            ready_.add(-1);
            busy_.add(1);
            own.leader = w;
        }
        own.since = context_->now();
        critical_.runs(w, t);
    }
    void blocked(worker_id w, task& t, ready_reason) override {
        if (t.graph() != 0) critical_.ends(w);
    }
    void resumed(worker_id w, task& t) override {
        if (t.graph() != 0) critical_.runs(w, t);
    }
    void finished(worker_id w, task& t, const usage& used) override {
        if (t.graph() == 0 || used.cancelled) return;
        critical_.ends(w);
        busy_.add(-1);
        const auto& own = t.data<node>();
        if (t.rank() == 0) table_.update(own.type, {own.leader, t.width()}, context_->now() - own.since);
    }

private:
    struct node { // of the policy's bytes
        time_ns since;
        std::int32_t type;
        worker_id leader;
    };

    /// Places lie on active workers only. If the cluster has none of them, it is empty.
    workers active_part(workers cluster) const {
        return {cluster.first, std::min(cluster.last, context_->active().last)};
    }

    worker_id choose(worker_id w, const task& t, int type) {
        switch (place_) {
        case placing::critical: return any_on(w, critical_.is_critical(w, t));
        case placing::critical_ptt:
            return critical_.is_critical(w, t)
                       ? fastest(type, width_of(t))
                       : static_cast<worker_id>(
                             context_->random(w, static_cast<std::uint32_t>(context_->active().size())));
        default: return choose_by_weight(w, t, type);
        }
    }

    /// An active worker on a core of the fastest or of the slowest kind that has one.
    worker_id any_on(worker_id w, bool big) const {
        const workers active = context_->active(); // once: it may change meanwhile
        int group = big ? 0 : groups_.slowest();
        while (groups_.workers_in(group, active) == 0) group += big ? 1 : -1;
        return groups_.draw(w, group, active);
    }

    worker_id choose_by_weight(worker_id w, const task& t, int type) {
        if (groups_.are_equal()) return any_on(w, true);
        const int width = width_of(t);
        const auto best = [&](bool big) {
            time_ns least = 0;
            for_each_of(width, [&](elastic_place at) {
                const time_ns took = table_.time(type, at);
                if ((groups_.of(at.leader) == 0) == big && took != 0 && (least == 0 || took < least))
                    least = took;
            });
            return least;
        };
        return any_on(w, threshold_.judge(best(true), best(false)) == weight_threshold::side::big);
    }

    /// Where a type takes the least time at this width; where it was never measured comes first.
    worker_id fastest(int type, int width) const {
        std::optional<elastic_place> best;
        time_ns least = 0;
        for_each_of(width, [&](elastic_place at) {
            const time_ns took = table_.time(type, at);
            if (best && took >= least) return;
            best = at;
            least = took;
        });
        return best.value_or(elastic_place{}).leader;
    }

    /// The places of that width; in a cluster that is smaller, or of which not all workers are active, its widest ones.
    template <class Each>
    void for_each_of(int width, Each&& each) const {
        for (int c = 0; c < clusters_.count(); ++c) {
            const workers cluster = active_part(clusters_.members(c));
            const int wide = std::min(width, power_of_two_below(cluster.size()));
            for (worker_id leader = cluster.first; leader + wide <= cluster.last; leader += wide)
                each(elastic_place{leader, wide});
        }
    }

    /// The times that count for a task which `w` has found: an own place that was never measured, else the best of the cluster.
    times_by_width times_of(worker_id w, int type, workers cluster) const {
        times_by_width best{};
        for_each_place(cluster, max_width, [&](elastic_place at) {
            time_ns& least = best[static_cast<std::size_t>(log2_of_width(at.width))];
            const time_ns took = table_.time(type, at);
            if (took != 0 && (least == 0 || took < least)) least = took;
        });
        for (int width = 1; width <= cluster.size() && width <= max_width; width *= 2)
            if (table_.time(type, place_around(w, width, cluster)) == 0)
                best[static_cast<std::size_t>(log2_of_width(width))] = 0;
        return best;
    }

    int width_of(const task& t) const noexcept { return t.molds() ? power_of_two_below(t.width()) : 1; }
    const placing place_;
    const bool by_load_, by_history_, steals_, crosses_, literal_;
    const std::string file_;
    core_groups groups_;
    core_clusters clusters_;
    assembly_queues assembly_;
    performance_trace_table table_;
    std::unique_ptr<kept_trace_table> kept_; ///< null: the table ends with the run
    running_criticality critical_;
    weight_threshold threshold_;
    std::unique_ptr<queue::locked_list<task>[]>
        placed_;                ///< with steal=off: tasks that one worker alone may take
    queue::cell<int> ready_{0}; ///< tasks of graphs that were not found yet
    queue::cell<int> busy_{0};  ///< workers that have a share, running or waiting in a queue
};

std::unique_ptr<policy> make_xitao(const knob_values& values) {
    const std::string_view place = values.text("place"), mold = values.text("mold");
    const placing where = place == "random"         ? placing::random
                          : place == "critical"     ? placing::critical
                          : place == "critical-ptt" ? placing::critical_ptt
                                                    : placing::weight;
    if (mold != "off" && (where == placing::random || where == placing::critical))
        throw error("policy 'xitao' molds only where it keeps a trace table",
                    "place=" + std::string(place) + ",mold=" + std::string(mold),
                    "mold=off, or place=critical-ptt or weight");
    const std::string_view file = values.text("table");
    if (file != "none" && (where == placing::random || where == placing::critical))
        throw error("policy 'xitao' has no trace table to keep",
                    "place=" + std::string(place) + ",table=" + std::string(file),
                    "table=none, or place=critical-ptt or weight");
    const bool both = mold == "both";
    return std::make_unique<elastic_places>(where, both || mold == "load", both || mold == "history",
                                            values.flag("steal"), values.flag("cross"),
                                            values.flag("literal"), std::string(file));
}

} // namespace

extern constinit const policy_entry xitao_entry{
    .name = "xitao",
    .summary = "moldable tasks on elastic places, by trace table, criticality or weight",
    .source = "Rohlin, Fahlgren, Pericas 2018; Pericas, ACM TACO 2018",
    .wants = "graphs, of moldable tasks above all, with a name for each type of task",
    .helps = "cores of different speed, and tasks that do not gain from every core",
    .knobs = xitao_knobs,
    .make = make_xitao,
};

} // namespace weft::policies
