#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/locked_list.hpp"

#include <cstdint>
#include <memory>
#include <utility>

/// Any policy, disturbed: for tests of programs, policies and engines.
///
/// Some of the tasks that become ready are held back for a while, and then offered in another order. A worker
/// that looks for a task is sometimes told that there is none. Hooks are sometimes slow. The other policy
/// still decides everything, so a program that fails under chaos can fail without it. Every choice is drawn
/// from the runtime's seed, in the order of the hooks of each worker.
namespace weft::policies {
namespace {

constexpr knob chaos_knobs[] = {
    {"hold", "20", "0..100", "percentage of the ready tasks that are held back"},
    {"blind", "20", "0..100", "percentage of the looks for a task that find none"},
    {"delay", "10", "0..100", "percentage of these hooks that take some microseconds longer"},
    {"of", "steal", "policy", "the policy that is disturbed, with its knobs"},
};

class chaos final : public policy {
public:
    chaos(std::unique_ptr<policy> of, std::int64_t hold, std::int64_t blind, std::int64_t delay)
        : of_(std::move(of))
        , hold_(static_cast<std::uint32_t>(hold))
        , blind_(static_cast<std::uint32_t>(blind))
        , delay_(static_cast<std::uint32_t>(delay)) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        mine_ = std::make_unique<held[]>(static_cast<std::size_t>(context.all().size()));
        return of_->attach(m, context);
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        linger(w);
        if (!drawn(w, hold_)) return of_->ready(w, t, reason);
        auto& list = at(w).by_reason[static_cast<std::size_t>(reason)];
        if (context_->random(w, 2) == 0)
            list.push_back(&t);
        else
            list.push_front(&t);
        return {w, context_->active()}; // a last look of any worker finds it
    }

    decision next(worker_id w, bool last_look) override {
        linger(w);
        if (last_look)
            for (worker_id v = 0; v < context_->all().last; ++v) release(w, v);
        else if (context_->random(w, 2) == 0)
            release(w, w);
        if (!last_look && drawn(w, blind_)) return {};
        return of_->next(w, last_look);
    }

    spawn_order spawn(worker_id w, task& parent, task& child) override {
        linger(w);
        return of_->spawn(w, parent, child);
    }
    after_wait group_wait(worker_id w, task& t, group& g) override {
        linger(w);
        return of_->group_wait(w, t, g);
    }

    elastic_place mold(worker_id w, task& t) override { return of_->mold(w, t); }
    void assemble(worker_id w, std::span<task* const> shares, elastic_place at) override {
        of_->assemble(w, shares, at);
    }
    bool keeps_share(worker_id w) override { return of_->keeps_share(w); }
    workers victims(worker_id w) override { return of_->victims(w); }
    bool queues_child(worker_id w) override { return of_->queues_child(w); }
    int pieces(worker_id w, task& loop) override { return of_->pieces(w, loop); }
    void group_begin(worker_id w, task& t, group& g) override { of_->group_begin(w, t, g); }
    void group_end(worker_id w, task& t, group& g) override { of_->group_end(w, t, g); }
    void started(worker_id w, task& t) override { of_->started(w, t); }
    void blocked(worker_id w, task& t, ready_reason reason) override { of_->blocked(w, t, reason); }
    void resumed(worker_id w, task& t) override { of_->resumed(w, t); }
    void finished(worker_id w, task& t, const usage& used) override { of_->finished(w, t, used); }
    placement message(worker_id w, worker_id from, int kind, task* t) override {
        return of_->message(w, from, kind, t);
    }
    void iteration(worker_id w, task& t, int k) override { of_->iteration(w, t, k); }
    void graph_grew(worker_id w, const graph_view& g) override { of_->graph_grew(w, g); }
    void lock_waits(worker_id w, task& t, std::uint32_t lock) override { of_->lock_waits(w, t, lock); }
    void lock_taken(worker_id w, task& t, std::uint32_t lock) override { of_->lock_taken(w, t, lock); }
    void lock_released(worker_id w, task& t, std::uint32_t lock) override { of_->lock_released(w, t, lock); }
    void resized(workers active) override { of_->resized(active); }
    bool gives_way(worker_id w, const task& t) override { return of_->gives_way(w, t); }
    void tick(time_ns now) override { of_->tick(now); }
    root_zone run_begins(const task& root, time_ns now) override { return of_->run_begins(root, now); }
    void run_ended(time_ns now) override { of_->run_ended(now); }
    void child_detached(worker_id w) override { of_->child_detached(w); }
    void child_settled(worker_id w) override { of_->child_settled(w); }
    void turned_away(worker_id w) override { of_->turned_away(w); }
    void keep() noexcept override { of_->keep(); }
    policy_choices choices() override { return of_->choices(); }

private:
    static constexpr std::size_t reasons = static_cast<std::size_t>(ready_reason::yielded) + 1;

    /// What a worker holds back; any worker may offer it.
    struct alignas(queue::k_cache_line_bytes) held {
        queue::locked_list<task> by_reason[reasons];
    };

    held& at(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    bool drawn(worker_id w, std::uint32_t percent) { return context_->random(w, 100) < percent; }

    void linger(worker_id w) {
        if (!drawn(w, delay_)) return;
        for (auto turns = context_->random(w, 300); turns > 0; --turns) queue::std_sync::pause();
    }

    /// `w` offers what `holder` has held back.
    void release(worker_id w, worker_id holder) {
        for (std::size_t reason = 0; reason < reasons; ++reason)
            while (task* const t = at(holder).by_reason[reason].try_pop_front()) {
                const placement p = of_->ready(w, *t, static_cast<ready_reason>(reason));
                // The engine announces nothing: it did so when the task was held back.
                if (!p.who.empty()) context_->wake(p.who);
            }
    }

    std::unique_ptr<policy> of_;
    std::uint32_t hold_, blind_, delay_; ///< percent
    policy_context* context_ = nullptr;
    std::unique_ptr<held[]> mine_;
};

} // namespace

extern constinit const policy_entry chaos_entry{
    .name = "chaos",
    .summary = "another policy, disturbed at random, for tests",
    .source = "after schedule fuzzing as in Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010",
    .helps = "none: it looks for mistakes in programs, by the schedules that they rarely meet",
    .knobs = chaos_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<chaos>(make_policy(values.text("of")), values.integer("hold"),
                                       values.integer("blind"), values.integer("delay"));
    },
};

} // namespace weft::policies
