#include "policy/parts/core_groups.hpp"
#include "policy/parts/level_queue.hpp"
#include "policy/parts/plain_stealing.hpp"
#include "policy/parts/running_criticality.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cell.hpp"

#include <memory>

/// Critical tasks on fast cores: two queues.
///
///   K. Chronaki, A. Rico, R. M. Badia, E. Ayguade, J. Labarta, M. Valero: Criticality-aware dynamic task scheduling for
///   heterogeneous architectures. ICS 2015 (CATS).
///
/// A task of a graph is critical if no other one that is ready or runs has a larger bottom level. Critical tasks wait in one
/// queue, which big cores serve, all others in a second one, which LITTLE cores serve; the largest bottom level comes first.
/// While only big cores are active, or only LITTLE ones, all serve both queues (ours).
/// With steal=on a big core that finds no critical task takes another one. Where all cores are equally fast, all serve both
/// queues, the critical one first. All other tasks are stolen at random.
namespace weft::policies {
namespace {

constexpr knob cats_knobs[] = {
    {"steal", "on", "on, off", "whether a big core without a critical task takes one that is not critical"},
};

class criticality_aware final : public plain_stealing {
public:
    explicit criticality_aware(bool steals) : steals_(steals) {}

    requirements attach(const machine& m, policy_context& context) override {
        requirements need = attach_plain(context);
        groups_.attach(m, context);
        running_.attach(context.all().size());
        need.task_bytes = sizeof(level_queue::part);
        need.levels = true;
        need.resizable = true;
        look_for_big_ones(context.all());
        return need;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (!is_node(t, reason)) return plain_stealing::ready(w, t, reason);
        const int level = t.bottom_level();
        const bool is_critical = level >= running_.most_but_of(w) && level >= critical_.first_level() &&
                                 level >= other_.first_level();
        (is_critical ? critical_ : other_).push(t, 0);
        return told(is_critical);
    }

    decision next(worker_id w, bool last_look) override {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        const bool big = is_big(w), alone = are_alike_.load_relaxed();
        if (big || alone)
            if (task* const t = critical_.pop()) return {t, place_of(true)};
        if (!big || steals_ || alone)
            if (task* const t = other_.pop()) return {t, place_of(false)};
        return places_.look_outside(w, last_look, true, places::thief_takes::half);
    }

    /// Tasks wait in the queue of cores that are all inactive now, or for a worker that served one queue only.
    void resized(workers active) override {
        look_for_big_ones(active);
        context_->wake(active);
    }

    void started(worker_id w, task& t) override {
        if (t.graph() != 0) running_.runs(w, t);
    }
    void blocked(worker_id w, task& t, ready_reason) override {
        if (t.graph() != 0) running_.ends(w);
    }
    void resumed(worker_id w, task& t) override {
        if (t.graph() != 0) running_.runs(w, t);
    }
    void finished(worker_id w, task& t, const usage&) override {
        if (t.graph() != 0) running_.ends(w);
    }

private:
    place_id place_of(bool critical) const noexcept { return places_.root_place() + (critical ? 1 : 2); }

    placement told(bool critical) {
        if (are_alike_.load_relaxed() || (!critical && steals_))
            return {place_of(critical), context_->active()};
        placement at =
            groups_.for_those(place_of(critical), [&](worker_id w) { return is_big(w) == critical; });
        if (at.who.empty()) at.who = context_->active(); // the number of active workers changes just now
        return at;
    }

    bool is_big(worker_id w) const noexcept { return groups_.of(w) == 0; }
    /// Whether all active workers are on big cores, or all on LITTLE ones: then each of them serves both queues.
    void look_for_big_ones(workers active) noexcept {
        const int big = groups_.workers_in(0, active);
        are_alike_.store_relaxed(big == 0 || big == active.size());
    }

    const bool steals_;
    queue::cell<bool> are_alike_{true}; ///< written by attach() and resized()
    core_groups groups_;
    running_criticality running_;
    level_queue critical_, other_;
};

} // namespace

extern constinit const policy_entry cats_entry{
    .name = "cats",
    .summary = "graphs: critical tasks on fast cores, by two queues",
    .source = "Chronaki et al., ICS 2015",
    .wants = "graphs",
    .helps = "cores of different speed, and graphs with a long path",
    .knobs = cats_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<criticality_aware>(values.flag("steal"));
    },
};

} // namespace weft::policies
