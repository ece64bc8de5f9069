#pragma once

#include "policy/seam/policy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

/// What happened to a policy, as a list of events: replay.hpp repeats them with another object of the same
/// policy.
///
/// A recorder passes every hook on to the policy that it wraps, one at a time. It records the input
/// (arguments, all that a policy can read of them, the answers of its context) and the output (the decision,
/// the questions).
///
/// Tasks and groups have numbers, since their addresses are reused. A number begins with the hook that first
/// shows a task or group (a root, a child that is spawned, a frame that is exposed, group_begin) and ends
/// with finished() or group_end().
namespace weft::test {

enum class hook : std::uint8_t {
    attach,
    ready,
    next,
    victims,
    spawn,
    pieces,
    group_begin,
    group_wait,
    group_end,
    started,
    blocked,
    resumed,
    finished,
    message,
    iteration,
    resized,
    gives_way,
    tick,
    mold,
    assemble,
    lock_waits,
    lock_taken,
    lock_released,
    run_begins,
    run_ended,
    child_detached,
    child_settled,
    turned_away
};

enum class question : std::uint8_t { all, active, core_of, now, random, wake, post, running, exchange };

using number = std::int64_t; ///< of a task or a group
inline constexpr number no_number = -1;
inline constexpr worker_id no_worker = -1; ///< the hook is called by no worker
using values = std::vector<std::int64_t>;  ///< the fields of an argument, answer or decision, in order

struct task_facts {
    number who = no_number, parent = no_number, in = no_number;
    std::uint64_t id = 0;
    hints hint{};
    void (*code)(void*) = nullptr; ///< task_class.hpp: part of a task's class
    int level = 0, index = 0, root = 0, rank = 0, width = 0, bottom_level = 0;
    bool last = false, fresh = false, of_wide_group = false, molds = false, share = false;
    std::uint64_t graph = 0;
    std::uint32_t graph_number = 0;
    /// Of a new task: the bytes that the engine gave it. From then on they are the policy's.
    std::optional<std::array<std::byte, max_task_bytes>> bytes{};
};

struct group_facts {
    number who = no_number, owner = no_number;
    std::uint64_t id = 0;
    hints hint{};
};

struct asked {
    question what{};
    values about{};
    values answer{};
};

struct event {
    hook what{};
    worker_id w = 0;
    values arguments{}; ///< but tasks, groups and usage
    std::vector<task_facts> tasks{};
    std::optional<group_facts> in{};
    usage used{};
    std::vector<asked> questions{};
    values decision{};
};

using recording = std::vector<event>;

inline values fields(const requirements& n) {
    return {n.task_bytes,  n.group_bytes, n.lazy,      n.wide_groups, n.offers_ahead,
            n.own_usage,   n.own_misses,  n.demotable, n.resizable,   n.posts,
            n.uses,        n.levels,      n.snapshots, n.exchanges,   n.tick,
            n.graph_tasks, n.most_width,  n.locks,     n.follows_runs};
}
inline values fields(const snapshot& s) {
    return {s.busy,     static_cast<std::int64_t>(s.id),
            s.priority, static_cast<std::int64_t>(s.preempt),
            s.since,    s.before,
            s.root,     static_cast<std::int64_t>(s.of_class)};
}
inline values fields(workers r) { return {r.first, r.last}; }
inline values fields(const placement& p) { return {p.at, p.who.first, p.who.last, p.near}; }
template <class T>
    requires std::is_enum_v<T> || std::is_integral_v<T>
values fields(T value) {
    return {static_cast<std::int64_t>(value)};
}

class recorder final : public policy, policy_context {
public:
    recorder(std::unique_ptr<policy> of, recording& list) : of_(std::move(of)), list_(list) {}

    requirements attach(const machine& m, policy_context& engine) override {
        const auto lock = begin(hook::attach, no_worker);
        engine_ = &engine;
        return decided(need_ = of_->attach(m, *this));
    }
    placement ready(worker_id w, task& t, ready_reason reason) override {
        const auto lock = begin(hook::ready, w, {static_cast<int>(reason)});
        see(t, reason == ready_reason::root || (reason == ready_reason::exposed && t.fresh()));
        return decided(of_->ready(w, t, reason));
    }
    decision next(worker_id w, bool last_look) override {
        const auto lock = begin(hook::next, w, {last_look});
        const decision p = of_->next(w, last_look);
        now_->decision = {number_of(p.t), p.from, p.ask, p.moved};
        return p;
    }
    elastic_place mold(worker_id w, task& t) override {
        const auto lock = begin(hook::mold, w);
        see(t);
        const elastic_place at = of_->mold(w, t);
        now_->decision = {at.leader, at.width};
        return at;
    }
    void assemble(worker_id w, std::span<task* const> shares, elastic_place at) override {
        const auto lock = begin(hook::assemble, w, {at.leader, at.width});
        for (task* const t : shares) see(*t, t != shares.front());
        of_->assemble(w, shares, at);
    }
    bool keeps_share(worker_id w) override { return of_->keeps_share(w); }
    workers victims(worker_id w) override {
        const auto lock = begin(hook::victims, w);
        return decided(of_->victims(w));
    }
    spawn_order spawn(worker_id w, task& parent, task& child) override {
        const auto lock = begin(hook::spawn, w);
        see(parent);
        see(child, true);
        return decided(of_->spawn(w, parent, child));
    }
    bool queues_child(worker_id w) override { return of_->queues_child(w); } // asked in user code: no record
    int pieces(worker_id w, task& loop) override {
        const auto lock = begin(hook::pieces, w);
        see(loop);
        return decided(of_->pieces(w, loop));
    }
    void group_begin(worker_id w, task& t, group& g) override {
        const auto lock = begin(hook::group_begin, w);
        see(t);
        groups_[&g] = next_group_++;
        see(g);
        of_->group_begin(w, t, g);
    }
    after_wait group_wait(worker_id w, task& t, group& g) override {
        const auto lock = begin(hook::group_wait, w);
        see(t);
        see(g);
        return decided(of_->group_wait(w, t, g));
    }
    void group_end(worker_id w, task& t, group& g) override {
        const auto lock = begin(hook::group_end, w);
        see(t);
        see(g);
        of_->group_end(w, t, g);
        groups_.erase(&g);
    }
    void started(worker_id w, task& t) override {
        const auto lock = begin(hook::started, w);
        see(t);
        of_->started(w, t);
    }
    void blocked(worker_id w, task& t, ready_reason reason) override {
        const auto lock = begin(hook::blocked, w, {static_cast<int>(reason)});
        see(t);
        of_->blocked(w, t, reason);
    }
    void resumed(worker_id w, task& t) override {
        const auto lock = begin(hook::resumed, w);
        see(t);
        of_->resumed(w, t);
    }
    void finished(worker_id w, task& t, const usage& used) override {
        const auto lock = begin(hook::finished, w);
        see(t);
        now_->used = used;
        of_->finished(w, t, used);
        tasks_.erase(&t);
    }
    placement message(worker_id w, worker_id from, int kind, task* t) override {
        const auto lock = begin(hook::message, w, {from, kind});
        if (t) see(*t);
        return decided(of_->message(w, from, kind, t));
    }
    void iteration(worker_id w, task& t, int k) override {
        const auto lock = begin(hook::iteration, w, {k});
        see(t);
        of_->iteration(w, t, k);
    }
    void lock_waits(worker_id w, task& t, std::uint32_t which) override {
        const auto lock = begin(hook::lock_waits, w, {which});
        see(t);
        of_->lock_waits(w, t, which);
    }
    void lock_taken(worker_id w, task& t, std::uint32_t which) override {
        const auto lock = begin(hook::lock_taken, w, {which});
        see(t);
        of_->lock_taken(w, t, which);
    }
    void lock_released(worker_id w, task& t, std::uint32_t which) override {
        const auto lock = begin(hook::lock_released, w, {which});
        see(t);
        of_->lock_released(w, t, which);
    }
    void resized(workers active) override {
        const auto lock = begin(hook::resized, no_worker, fields(active));
        of_->resized(active);
    }
    bool gives_way(worker_id w, const task& t) override {
        const auto lock = begin(hook::gives_way, w);
        see(const_cast<task&>(t)); // only reads it
        return decided(of_->gives_way(w, t));
    }
    void tick(time_ns now) override {
        const auto lock = begin(hook::tick, no_worker, {now});
        of_->tick(now);
    }

    root_zone run_begins(const task& root, time_ns now) override {
        const auto lock = begin(hook::run_begins, no_worker, {now});
        see(const_cast<task&>(root), true); // only reads it
        const root_zone z = of_->run_begins(root, now);
        tasks_.erase(&root); // ready() shows it anew
        now_->decision = {z.lazy, z.graph_tasks, z.molds};
        return z;
    }
    void run_ended(time_ns now) override {
        const auto lock = begin(hook::run_ended, no_worker, {now});
        of_->run_ended(now);
    }
    void child_detached(worker_id w) override {
        const auto lock = begin_in_handler(hook::child_detached, w);
        of_->child_detached(w);
    }
    void child_settled(worker_id w) override {
        const auto lock = begin_in_handler(hook::child_settled, w);
        of_->child_settled(w);
    }
    void turned_away(worker_id w) override {
        const auto lock = begin(hook::turned_away, w);
        of_->turned_away(w);
    }
    void keep() noexcept override { of_->keep(); }
    policy_choices choices() override { return of_->choices(); }

private:
    // The context of the policy. Each caller is in a hook, and so holds the lock.
    workers all() const override { return answered(question::all, {}, engine_->all()); }
    workers active() const override { return answered(question::active, {}, engine_->active()); }
    int core_of(worker_id w) const override { return answered(question::core_of, {w}, engine_->core_of(w)); }
    time_ns now() const override { return answered(question::now, {}, engine_->now()); }
    std::uint32_t random(worker_id w, std::uint32_t below) override {
        return answered(question::random, {w, below}, engine_->random(w, below));
    }
    void wake(workers range) override {
        now_->questions.push_back({question::wake, fields(range)});
        engine_->wake(range);
    }
    void post(worker_id from, worker_id to, int kind, task* t) override {
        now_->questions.push_back({question::post, {from, to, kind, number_of(t)}});
        engine_->post(from, to, kind, t);
    }

    snapshot running(worker_id w) const override {
        return answered(question::running, {w}, engine_->running(w));
    }

    bool exchange(worker_id a, worker_id b) override {
        return answered(question::exchange, {a, b}, engine_->exchange(a, b));
    }

    template <class T>
    T answered(question what, values about, T answer) const {
        now_->questions.push_back({what, std::move(about), fields(answer)});
        return answer;
    }

    [[nodiscard]] std::unique_lock<std::mutex> begin(hook what, worker_id w, values arguments = {}) {
        std::unique_lock lock(one_at_a_time_);
        if (list_.capacity() < list_.size() + 1 + spare) list_.reserve(2 * list_.size() + 1 + spare);
        return begin_under(std::move(lock), what, w, std::move(arguments));
    }
    /// A hook that may come in a signal handler does not allocate. The lock is held in hooks only, and the interrupted code is not
    /// in one. A worker gets a child only after a hook of its own (next), so that few such hooks come between two others.
    [[nodiscard]] std::unique_lock<std::mutex> begin_in_handler(hook what, worker_id w) {
        std::unique_lock lock(one_at_a_time_);
        if (list_.capacity() == list_.size()) std::abort();
        return begin_under(std::move(lock), what, w, {});
    }
    [[nodiscard]] std::unique_lock<std::mutex> begin_under(std::unique_lock<std::mutex> lock, hook what,
                                                           worker_id w, values arguments) {
        now_ = &list_.emplace_back();
        now_->what = what;
        now_->w = w;
        now_->arguments = std::move(arguments);
        return lock;
    }
    template <class T>
    T decided(T decision) {
        now_->decision = fields(decision);
        return decision;
    }

    void see(task& t, bool born = false) {
        const bool unknown = born || !tasks_.contains(&t);
        if (unknown) tasks_[&t] = next_task_++;
        task_facts& f = now_->tasks.emplace_back();
        f = {.who = tasks_[&t],
             .parent = number_of(t.parent()),
             .in = number_of(t.parent_group()),
             .id = t.id(),
             .hint = t.hint(),
             .code = t.call_,
             .level = t.level(),
             .index = t.index(),
             .root = t.root(),
             .rank = t.rank(),
             .width = t.width(),
             .bottom_level = t.bottom_level(),
             .last = t.last(),
             .fresh = t.fresh(),
             .of_wide_group = t.is_of_wide_group(),
             .molds = t.molds(),
             .share = t.is_share(),
             .graph = t.graph(),
             .graph_number = t.graph_number()};
        // The record of a silent child belongs to its fiber: it has no id, and no hook tells the policy where
        // one use of the record ends and the next begins.
        const bool of_fiber = t.id() == 0 && t.frame_ == nullptr;
        if (unknown || of_fiber)
            std::memcpy(f.bytes.emplace().data(), static_cast<const void*>(&t + 1), need_.task_bytes);
    }
    void see(group& g) {
        now_->in = {.who = number_of(&g), .owner = number_of(g.owner()), .id = g.id(), .hint = g.hint()};
    }

    number number_of(const task* t) const {
        const auto at = tasks_.find(t);
        return at == tasks_.end() ? no_number : at->second;
    }
    number number_of(const group* g) const {
        const auto at = groups_.find(g);
        return at == groups_.end() ? no_number : at->second;
    }

    /// Room that is kept for hooks which may not make any.
    static constexpr std::size_t spare = 1024;

    std::unique_ptr<policy> of_;
    policy_context* engine_ = nullptr;
    requirements need_{};
    std::mutex one_at_a_time_;
    recording& list_; ///< under the lock, as what follows
    event* now_ = nullptr;
    std::unordered_map<const task*, number> tasks_;
    std::unordered_map<const group*, number> groups_;
    number next_task_ = 0, next_group_ = 0;
};

} // namespace weft::test
