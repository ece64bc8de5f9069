#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

/// Random stealing that begins with the nearest victims and goes wider as it fails.
///
///   After the hierarchical stealing of J.-N. Quintin, F. Wagner: Hierarchical work-stealing. Euro-Par 2010,
///   without its leaders; and Chen & Guo 2017, 3.2.3, without its fixed probabilities.
///
/// The distances from a worker's core to the others, as the machine gives them, make its levels: 0 is the
/// nearest. A worker at level l draws its victim uniformly among the workers that are at most that far.
/// `tries` failed looks in a row take it one level wider, up to all workers. The first task that it gets,
/// stolen or handed over by a victim, takes it back to level 0.
///
/// Children of a wide group are queued, and a thief takes half of them, as in `steal`.
///
/// A look that came back empty is a failure. A victim that was asked for a hidden frame has not answered yet,
/// so an ask is not a failure by itself. It becomes one when the engine calls next() again, which it does
/// only after the ask came back empty or was withdrawn. A look that lost to another thief is not a failure:
/// there was work at that distance.
namespace weft::policies {
namespace {

constexpr knob near_knobs[] = {
    {"tries", "4", "1..1000", "failed looks in a row before the next wider distance is included"},
    zone_knob(),
    wide_knob(),
};

class nearest_first final : public policy {
public:
    nearest_first(int tries, bool lazy, bool queues) : tries_(tries), lazy_(lazy), queues_(lazy && queues) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        searches_ = std::make_unique<search[]>(static_cast<std::size_t>(places_.workers_in_all()));
        rank_by_distance(m);
        return {.lazy = lazy_, .wide_groups = queues_, .offers_ahead = queues_, .resizable = true};
    }

    bool queues_child(worker_id w) override { return places_.queues_child(w); }

    spawn_order spawn(worker_id, task&, task&) override {
        return lazy_ ? spawn_order::lazy : spawn_order::child_first;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (reason == ready_reason::exposed) of(w).found();
        return places_.put(w, t, reason);
    }

    decision next(worker_id w, bool last_look) override {
        search& s = of(w);
        if (const decision own = places_.own(w, last_look); own.t != nullptr) {
            s.asked = false; // withdrawn unanswered
            if (own.from == places_.root_place()) s.found();
            return own;
        }
        const decision found = last_look ? look_everywhere(w) : look_once(w, s);
        if (found.t != nullptr) s.found();
        return found;
    }

    workers victims(worker_id) override { return context_->all(); }

private:
    /// Of one worker; only that worker touches it.
    struct alignas(queue::k_cache_line_bytes) search {
        int level = 0;
        int failures = 0;   // in a row, at this level
        bool asked = false; // by the last look, and nothing has come of it so far

        void found() noexcept { *this = {}; }
    };

    search& of(worker_id w) noexcept { return searches_[static_cast<std::size_t>(w)]; }

    /// The levels are a property of the cores, which never changes. Which worker is on which core may change
    /// at any time, so that is asked for at each look.
    void rank_by_distance(const machine& m) {
        cores_ = static_cast<std::size_t>(m.size());
        levels_.resize(cores_ * cores_);
        std::vector<double> distances;
        for (int from = 0; from < m.size(); ++from) {
            distances.clear();
            for (int to = 0; to < m.size(); ++to) distances.push_back(m.distance(from, to));
            std::vector<double> steps = distances;
            std::sort(steps.begin(), steps.end());
            steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
            for (std::size_t to = 0; to < cores_; ++to) {
                const auto step = std::lower_bound(steps.begin(), steps.end(), distances[to]) - steps.begin();
                levels_[static_cast<std::size_t>(from) * cores_ + to] = static_cast<std::uint16_t>(step);
            }
            widest_ = std::max(widest_, static_cast<int>(steps.size()) - 1);
        }
    }

    int level_between(int core, worker_id other) const {
        return levels_[static_cast<std::size_t>(core) * cores_ +
                       static_cast<std::size_t>(context_->core_of(other))];
    }

    int victims_within(worker_id w, int core, int level) const {
        int count = 0;
        for (worker_id v = 0; v < places_.workers_in_all(); ++v) {
            count += v != w && level_between(core, v) <= level ? 1 : 0;
        }
        return count;
    }

    /// The next level with more victims than this one; the widest if there is none.
    int wider(worker_id w, int core, int level) const {
        const int here = victims_within(w, core, level);
        while (level < widest_ && victims_within(w, core, level) == here) ++level;
        return level;
    }

    decision look_once(worker_id w, search& s) {
        const int core = context_->core_of(w);
        if (s.asked) {
            s.asked = false;
            ++s.failures;
        }
        if (s.failures >= tries_ && s.level < widest_) {
            s.level = wider(w, core, s.level);
            s.failures = 0;
        }
        int within = victims_within(w, core, s.level);
        if (within == 0) { // no worker is that near
            s.level = wider(w, core, s.level);
            within = victims_within(w, core, s.level);
            if (within == 0) return {};
        }
        // Workers may change cores between the counting and the drawing. Then the draw may run out, and the
        // last one passed is as good as any.
        auto left = context_->random(w, static_cast<std::uint32_t>(within));
        worker_id victim = -1;
        for (worker_id v = 0; v < places_.workers_in_all(); ++v) {
            if (v == w || level_between(core, v) > s.level) continue;
            victim = v;
            if (left-- == 0) break;
        }
        if (victim < 0) return {};
        const places::look_result result = places_.look(w, victim, takes());
        s.asked = lazy_ && result.t == nullptr && !result.lost;
        if (!lazy_ && result.t == nullptr && !result.lost) ++s.failures;
        return {result.t, victim, s.asked, result.moved};
    }

    places::thief_takes takes() const noexcept {
        return queues_ ? places::thief_takes::half : places::thief_takes::one;
    }

    decision look_everywhere(worker_id w) {
        const int core = context_->core_of(w);
        for (int level = 0; level <= widest_; ++level) {
            for (worker_id victim = 0; victim < places_.workers_in_all(); ++victim) {
                if (victim == w || level_between(core, victim) != level) continue;
                if (const decision found = places_.look_hard(w, victim, takes()); found.t != nullptr)
                    return found;
            }
        }
        // Again without regard to the distance: a last look must not miss a task.
        return places_.look_everywhere(w, 0, takes());
    }

    const int tries_;
    const bool lazy_, queues_;
    policy_context* context_ = nullptr;
    places places_;
    std::unique_ptr<search[]> searches_;
    std::size_t cores_ = 0;
    std::vector<std::uint16_t> levels_; // [from core][to core]
    int widest_ = 0;
};

} // namespace

extern constinit const policy_entry near_entry{
    .name = "near",
    .summary = "random stealing, nearest victims first, wider after failures",
    .source = "after Quintin & Wagner, Euro-Par 2010; Chen & Guo 2017, 3.2.3",
    .helps = "machines of several packages or cache domains: steals stay near while there is work near",
    .knobs = near_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<nearest_first>(static_cast<int>(values.integer("tries")),
                                               values.is("zone", "lazy"), values.is("wide", "queue"));
    },
};

} // namespace weft::policies
