#pragma once

#include "policy/recording.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

namespace weft::test {

inline std::string to_string(hook h) {
    constexpr const char* names[] = {
        "attach",      "ready",          "next",          "victims",    "spawn",         "pieces",
        "group_begin", "group_wait",     "group_end",     "started",    "blocked",       "resumed",
        "finished",    "message",        "iteration",     "resized",    "gives_way",     "tick",
        "mold",        "assemble",       "lock_waits",    "lock_taken", "lock_released", "run_begins",
        "run_ended",   "child_detached", "child_settled", "turned_away"};
    return names[static_cast<std::size_t>(h)];
}

/// What a policy sees without an engine: stand-ins with the recorded facts, and the recorded answers as long
/// as its questions are the recorded ones.
class replayer final : policy_context {
public:
    replayer(policy& p, const machine& m) : policy_(p), machine_(m) {}

    /// What it did differently from the recorded policy; empty if it did the same.
    std::optional<std::string> live_through(const event& e) {
        now_ = &e;
        asked_ = 0;
        deviated_ = false;
        for (const task_facts& f : e.tasks) take_on(f);
        if (e.in) take_on(*e.in);
        const values decision = call(e);
        if (decision == e.decision && !deviated_ && asked_ == e.questions.size()) return std::nullopt;
        return fmt::format(
            "{} by worker {} ({}): decided ({}), recorded ({}); {} of {} recorded questions asked{}",
            to_string(e.what), e.w, fmt::join(e.arguments, ", "), fmt::join(decision, ", "),
            fmt::join(e.decision, ", "), asked_, e.questions.size(), deviated_ ? ", then another one" : "");
    }

private:
    struct stand_in {
        task record{};
        alignas(std::max_align_t) std::byte bytes[max_task_bytes]{}; ///< right behind the record
        number who = no_number;
    };
    static_assert(offsetof(stand_in, bytes) == sizeof(task));
    struct group_stand_in {
        group record{};
        hints hint{};
        alignas(std::max_align_t) std::byte bytes[max_group_bytes]{};
    };

    values call(const event& e) {
        const auto argument = [&](std::size_t i) { return static_cast<int>(e.arguments[i]); };
        const auto t = [&](std::size_t i) -> task& { return at(e.tasks[i].who)->record; };
        const auto g = [&]() -> group& { return at_group(e.in->who)->record; };
        switch (e.what) {
        case hook::attach: return fields(policy_.attach(machine_, *this));
        case hook::ready: return fields(policy_.ready(e.w, t(0), static_cast<ready_reason>(argument(0))));
        case hook::next: {
            const decision p = policy_.next(e.w, argument(0) != 0);
            return {number_of(p.t), p.from, p.ask, p.moved};
        }
        case hook::victims: return fields(policy_.victims(e.w));
        case hook::spawn: return fields(policy_.spawn(e.w, t(0), t(1)));
        case hook::pieces: return fields(policy_.pieces(e.w, t(0)));
        case hook::group_begin: return policy_.group_begin(e.w, t(0), g()), values{};
        case hook::group_wait: return fields(policy_.group_wait(e.w, t(0), g()));
        case hook::group_end: return policy_.group_end(e.w, t(0), g()), values{};
        case hook::started: return policy_.started(e.w, t(0)), values{};
        case hook::blocked:
            return policy_.blocked(e.w, t(0), static_cast<ready_reason>(argument(0))), values{};
        case hook::resumed: return policy_.resumed(e.w, t(0)), values{};
        case hook::finished: return policy_.finished(e.w, t(0), e.used), values{};
        case hook::message:
            return fields(policy_.message(e.w, argument(0), argument(1), e.tasks.empty() ? nullptr : &t(0)));
        case hook::iteration: return policy_.iteration(e.w, t(0), argument(0)), values{};
        case hook::resized: return policy_.resized({argument(0), argument(1)}), values{};
        case hook::gives_way: return fields(policy_.gives_way(e.w, t(0)));
        case hook::mold: {
            const elastic_place at = policy_.mold(e.w, t(0));
            return {at.leader, at.width};
        }
        case hook::assemble: {
            std::vector<task*> shares;
            for (std::size_t i = 0; i < e.tasks.size(); ++i) shares.push_back(&t(i));
            return policy_.assemble(e.w, shares, {argument(0), argument(1)}), values{};
        }
        case hook::lock_waits: return policy_.lock_waits(e.w, t(0), lock_of(e)), values{};
        case hook::lock_taken: return policy_.lock_taken(e.w, t(0), lock_of(e)), values{};
        case hook::lock_released: return policy_.lock_released(e.w, t(0), lock_of(e)), values{};
        case hook::tick: return policy_.tick(e.arguments[0]), values{};
        case hook::run_begins: {
            const root_zone z = policy_.run_begins(t(0), e.arguments[0]);
            return {z.lazy, z.graph_tasks, z.molds};
        }
        case hook::run_ended: return policy_.run_ended(e.arguments[0]), values{};
        case hook::child_detached: return policy_.child_detached(e.w), values{};
        case hook::child_settled: return policy_.child_settled(e.w), values{};
        case hook::turned_away: return policy_.turned_away(e.w), values{};
        }
        return {};
    }

    static std::uint32_t lock_of(const event& e) { return static_cast<std::uint32_t>(e.arguments[0]); }

    void take_on(const task_facts& f) {
        while (tasks_.size() <= static_cast<std::size_t>(f.who)) {
            const auto next = static_cast<number>(tasks_.size());
            tasks_.emplace_back().who = next;
        }
        stand_in& s = *at(f.who);
        task& t = s.record;
        t.parent_ = f.parent == no_number ? nullptr : &at(f.parent)->record;
        t.group_ = f.in == no_number ? nullptr : &at_group(f.in)->record;
        t.id_ = f.id;
        t.hint_ = f.hint;
        t.call_ = f.code;
        t.level_ = f.level;
        t.index_ = f.index;
        t.root_ = f.root;
        t.rank_ = static_cast<std::int16_t>(f.rank);
        t.width_ = static_cast<std::int16_t>(f.width);
        t.bottom_level_ = f.bottom_level;
        t.last_ = f.last;
        t.of_wide_group_ = f.of_wide_group;
        t.molds_ = f.molds;
        t.share_ = f.share;
        t.graph_ = f.graph;
        t.graph_number_ = f.graph_number;
        t.state_ = f.fresh ? task_state::fresh : task_state::suspended;
        if (f.bytes) std::memcpy(s.bytes, f.bytes->data(), sizeof s.bytes);
    }
    void take_on(const group_facts& f) {
        while (groups_.size() <= static_cast<std::size_t>(f.who)) groups_.emplace_back();
        group_stand_in& s = *at_group(f.who);
        s.hint = f.hint;
        s.record.hint_ = &s.hint;
        s.record.owner_ = f.owner == no_number ? nullptr : &at(f.owner)->record;
        s.record.id_ = f.id;
        s.record.data_ = s.bytes;
    }

    stand_in* at(number n) { return &tasks_.at(static_cast<std::size_t>(n)); }
    group_stand_in* at_group(number n) { return &groups_.at(static_cast<std::size_t>(n)); }
    static number number_of(const task* t) {
        return t ? reinterpret_cast<const stand_in*>(t)->who : no_number; // the record is its first member
    }

    workers all() const override { return range(question::all, {}); }
    workers active() const override { return range(question::active, {}); }
    int core_of(worker_id w) const override { return static_cast<int>(one(question::core_of, {w})); }
    time_ns now() const override { return one(question::now, {}); }
    std::uint32_t random(worker_id w, std::uint32_t below) override {
        return static_cast<std::uint32_t>(one(question::random, {w, below}));
    }
    void wake(workers range) override { answer(question::wake, fields(range)); }
    void post(worker_id from, worker_id to, int kind, task* t) override {
        answer(question::post, {from, to, kind, number_of(t)});
    }

    snapshot running(worker_id w) const override {
        const values v = answer(question::running, {w});
        snapshot s{};
        if (v.size() == 8)
            s = {.busy = v[0] != 0,
                 .id = static_cast<std::uint64_t>(v[1]),
                 .priority = static_cast<int>(v[2]),
                 .preempt = static_cast<preemption>(v[3]),
                 .since = v[4],
                 .before = v[5],
                 .root = static_cast<int>(v[6]),
                 .of_class = static_cast<std::uint64_t>(v[7])};
        return s;
    }

    bool exchange(worker_id a, worker_id b) override { return one(question::exchange, {a, b}) != 0; }

    /// Zeros if the questions deviate: the replay ends with this event.
    values answer(question what, const values& about) const {
        if (!deviated_ && asked_ < now_->questions.size()) {
            const asked& expected = now_->questions[asked_];
            if (expected.what == what && expected.about == about) return ++asked_, expected.answer;
        }
        deviated_ = true;
        return {0, 0};
    }
    std::int64_t one(question what, const values& about) const { return answer(what, about)[0]; }
    workers range(question what, const values& about) const {
        const values v = answer(what, about);
        return {static_cast<int>(v[0]), static_cast<int>(v[1])};
    }

    /// Stand-ins lie where no task of an engine has ever lain. The bytes of a new task may hold the address
    /// of a task that has ended, and a policy may compare it with the address of this one. One replay at a
    /// time.
    alignas(std::max_align_t) static inline std::byte room_[std::size_t{64} << 20];

    policy& policy_;
    const machine& machine_;
    std::pmr::monotonic_buffer_resource room_left_{room_, sizeof room_, std::pmr::null_memory_resource()};
    std::pmr::deque<stand_in> tasks_{&room_left_}; ///< by number
    std::deque<group_stand_in> groups_;
    const event* now_ = nullptr;
    mutable std::size_t asked_ = 0; ///< of the event's questions
    mutable bool deviated_ = false;
};

/// The first event at which `p`, a fresh object, does not do what the recorded one did; empty if there is
/// none.
inline std::optional<std::string> replay(const recording& list, policy& p, const machine& m) {
    replayer r(p, m);
    for (std::size_t i = 0; i < list.size(); ++i)
        if (const auto difference = r.live_through(list[i]))
            return fmt::format("event {} of {}, {}", i, list.size(), *difference);
    return std::nullopt;
}

} // namespace weft::test
