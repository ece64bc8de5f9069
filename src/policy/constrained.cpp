#include "policy/parts/fair_turns.hpp"
#include "policy/parts/id_table.hpp"
#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/locked_list.hpp"

#include <cstdint>
#include <memory>

/// Constrained stealing: an iterative program's steals are traced, and replayed in later iterations.
///
///   J. Lifflander, S. Krishnamoorthy, L. V. Kale: Steal Tree: low-overhead tracing of work stealing
///   schedulers. PLDI 2013; Optimizing data locality for fork/join programs using constrained work stealing.
///   SC 2014. As a base line in S. Shiina's thesis (U. Tokyo 2021, appendix B).
///
/// Iteration 1 is child-first random stealing. The trace of a steal is what was stolen, the rest of a task
/// after its n-th stop, and the thief. In the next `relaxed` iterations (RelWS) a rest that was stolen goes
/// to its thief at once; idle workers steal all the same, which revises the trace. After those (StOWS) every
/// task goes where the trace says, and no worker steals.
///
/// Where the source leaves it open:
///
/// - A task that has waited resumes where it stopped, unless the trace says otherwise. The root resumes where
///   its first iteration began; otherwise its first child would move with it each time.
/// - What belongs to no iteration (roots before they mark one, other roots, graphs) is always stolen at
///   random.
/// - Waiting for anything but children, and yielding, is no part of the trace: such a task resumes where it
///   was.
/// - What the trace has at a worker that is not active goes to an active one, the same each time; the trace stays. Any worker takes
///   what lies at a worker that has become inactive, as in an iteration with steals.
namespace weft::policies {
namespace {

constexpr knob constrained_knobs[] = {
    {"relaxed", "5", "0..1000000", "iterations that are replayed with steals, before those without"},
};

enum class phase : std::uint8_t { none, traced, relaxed, strict };

struct part {           ///< of a task's bytes; no task is silent
    std::int32_t ran;   ///< worker + 1 that runs it, or ran it last
    std::int32_t home;  ///< root: worker + 1 of the first iteration
    std::int32_t marks; ///< root: iterations so far
    std::uint16_t stops;
    phase in;
};

class constrained final : public policy {
public:
    explicit constrained(std::int64_t relaxed) : relaxed_(relaxed) {}

    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(context.all().size()));
        thieves_ = std::make_unique<id_table>();
        return {.task_bytes = sizeof(part), .demotable = true, .resizable = true};
    }
    void resized(workers active) override { context_->wake(active); } // they look at the others

    placement ready(worker_id w, task& t, ready_reason reason) override {
        part& own = t.data<part>();
        const bool stops = reason == ready_reason::continuation || reason == ready_reason::joined;
        if (stops && own.in != phase::none) ++own.stops;
        const bool returns = own.home > 0 && reason == ready_reason::joined;
        if (own.in == phase::none || (own.in == phase::traced && !returns)) return places_.put(w, t, reason);
        if (goes_behind(reason)) {
            if (own.in == phase::relaxed) return places_.put(w, t, reason);
            of(w).turns.yielded();
            of(w).arrivals.push_back(&t);
            return {w, {w, w + 1}};
        }
        worker_id to = reason == ready_reason::joined || reason == ready_reason::unblocked ? own.ran - 1 : w;
        if (returns)
            to = own.home - 1;
        else if (const std::uint64_t thief = stops ? thieves_->find(key(t)) : 0; thief > 0)
            to = static_cast<worker_id>(thief) - 1;
        if (to < 0) to = w;
        to %= context_->active().size();
        const bool stealable = own.in == phase::relaxed && own.home == 0;
        if (to != w)
            of(to).arrivals.push_back(&t);
        else if (stealable)
            return places_.put(w, t, reason);
        else
            of(w).own.push_front(&t);
        return {to, stealable ? context_->active() : workers{to, to + 1}, to};
    }

    decision next(worker_id w, bool last_look) override {
        const decision p = find(w, last_look);
        if (p.t == nullptr) return p;
        part& own = p.t->data<part>();
        // A root that was handed in is not stolen, nor is a task at the worker that it was sent to.
        const bool stolen = p.from != w && p.from < places_.workers_in_all();
        if (stolen && (own.in == phase::traced || own.in == phase::relaxed) && own.stops > 0)
            thieves_->insert(key(*p.t), static_cast<std::uint64_t>(w) + 1);
        own.ran = w + 1;
        return p;
    }

    spawn_order spawn(worker_id, task& parent, task& child) override {
        child.data<part>().in = parent.data<part>().in;
        return spawn_order::child_first;
    }

    void started(worker_id w, task& t) override { t.data<part>().ran = w + 1; }

    void iteration(worker_id w, task& root, int number) override {
        if (number < 0) return; // the data are written first, by other tasks
        part& own = root.data<part>();
        if (own.home == 0) own.home = w + 1;
        own.stops = 0;
        own.in = own.marks == 0 ? phase::traced : own.marks <= relaxed_ ? phase::relaxed : phase::strict;
        ++own.marks;
    }

private:
    struct alignas(queue::k_cache_line_bytes) worker_part {
        queue::locked_list<task> arrivals; // sent here; any worker puts in, and takes what is relaxed
        queue::locked_list<task> own;      // strict, youngest first; only its worker, if that is active
        fair_turns turns;                  // only the worker touches it
    };

    worker_part& of(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }

    /// The rest of a task after its n-th stop. Identities are hashes already.
    static std::uint64_t key(const task& t) noexcept {
        const std::uint64_t stops = t.data<part>().stops;
        return t.id() + stops * 0x9e3779b97f4a7c15U;
    }

    task* own_of(worker_part& me) noexcept {
        if (task* const t = me.own.try_pop_front()) return t;
        return me.arrivals.try_pop_front();
    }

    /// Any worker may take what was sent to `v` in a relaxed iteration, except the root.
    task* look_at_arrivals(worker_id v) {
        return of(v).arrivals.pop_first_if([](const task& t) {
            const part& own = t.data<part>();
            return own.in == phase::relaxed && own.home == 0;
        });
    }

    decision find(worker_id w, bool last_look) {
        worker_part& me = of(w);
        const turn now = me.turns.begin();
        const bool skips = me.turns.sees_only_yields() && !last_look;
        if (skips) me.turns.looked_elsewhere();
        if (now == turn::usual && !skips)
            if (task* const t = me.own.try_pop_front()) return {t, w};
        if (now == turn::even_fair && !skips)
            if (task* const t = me.arrivals.try_pop_front()) return {t, w};
        if (const decision p = places_.own(w, last_look); p.t != nullptr) return p;
        if (!skips)
            if (task* const t = own_of(me)) return {t, w};
        const worker_id victim = places_.random_victim(w);
        if (victim < 0) return {};
        const int count = places_.workers_in_all();
        for (worker_id v = context_->active().last; v < count; ++v)
            if (task* const t = own_of(of(v))) return {t, v};
        if (!last_look) {
            if (task* const t = look_at_arrivals(victim)) return {t, victim};
            return {places_.look(victim).t, victim};
        }
        for (int i = 0; i < count; ++i) {
            const worker_id v = (victim + i) % count;
            if (task* const t = v == w ? nullptr : look_at_arrivals(v)) return {t, v};
        }
        return places_.look_everywhere(w, victim);
    }

    const std::int64_t relaxed_;
    policy_context* context_ = nullptr;
    places places_;
    std::unique_ptr<worker_part[]> mine_;
    std::unique_ptr<id_table> thieves_;
};

} // namespace

extern constinit const policy_entry constrained_entry{
    .name = "constrained",
    .summary = "steals of the first iterations are replayed in the later ones",
    .source = "Lifflander et al., PLDI 2013 and SC 2014; Shiina 2021, appendix B",
    .wants = "iterations",
    .helps = "programs that do the same on the same data again and again",
    .knobs = constrained_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<constrained>(values.integer("relaxed"));
    },
};

} // namespace weft::policies
