#include "engine/worker/flow.hpp"
#include "engine/run/cancellation.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/task_record.hpp"
#include "pipeline/pipeline_state.hpp"
#include "trace/write/log.hpp"

#include <weft/impl/entry.hpp>

#include <utility>

/// How tokens move. In the silent zone a task carries a token down the stages in one loop. When it leaves a serial stage
/// for which another token waits, it has two tokens: it goes on with its own, and the other one is the rest of the loop,
/// which an idle worker may take. In the reported zone each call of a stage is a task of the policy.
namespace weft::impl {

namespace {

/// A call of a stage in a carrying task is, for the trace, a child of the run's group.
class traced_call {
public:
    traced_call(group& in, const stage_body& s) {
        if (hot_self()->slow) [[unlikely]]
            begin(in, s);
    }
    ~traced_call() {
        if (number_) [[unlikely]]
            engine::note_inline_end(number_, threw ? trace::outcome::threw : trace::outcome::done);
    }
    traced_call(const traced_call&) = delete;
    traced_call& operator=(const traced_call&) = delete;

    bool threw = true;

private:
    void begin(group& in, const stage_body& s) {
        worker& w = engine::enter_runtime();
        if (w.log) {
            number_ = w.log->new_task();
            w.log->note(trace::kind::spawn, number_, reinterpret_cast<std::uint64_t>(&in),
                        w.log->name(s.hint.name, trace::address_of(s.run)),
                        static_cast<std::uint8_t>(trace::origin::child));
            engine::note_hints(*w.log, s.hint);
            engine::note(w, trace::kind::begin, number_, 0, 0,
                         static_cast<std::uint8_t>(trace::start::inside));
        }
        engine::leave_runtime();
    }

    std::uint32_t number_ = 0;
};

} // namespace

bool pipeline_core::state::is_over() const noexcept { return engine::is_cancelled(&*live); }

preemption pipeline_core::state::type_of(const pipeline_token& t) const noexcept {
    const preemption own = t.at->hint.preempt;
    return own == preemption::runtime_default ? preempts : own;
}

void pipeline_core::state::fail() noexcept {
    if (failed.exchange(true, std::memory_order_relaxed)) return count_suppressed();
    first_error = std::current_exception(); // published by the end of this task (G3)
    impl::cancel(*live);
}

/// The number of the item that the first stage has just made.
std::uint64_t pipeline_core::state::number_of_new() noexcept {
    if (stages[0].by == admission::free)
        // acq_rel: the calls that made earlier items come before (I3 of turns.hpp)
        return made.fetch_add(1, std::memory_order_acq_rel);
    const std::uint64_t n = made.load(std::memory_order_relaxed); // the holder of the stage alone changes it
    made.store(n + 1, std::memory_order_relaxed);
    return n;
}

namespace {

/// The token comes to its stage. True if it is admitted, and has a serial stage until leave() (P1); otherwise it is the
/// stage's, and in no task (P2).
[[gnu::always_inline]] inline bool enter(pipeline_token& t) noexcept {
    pipeline_stage& s = *t.at;
    if (s.by == admission::free) return true;
    return s.by == admission::in_order ? s.turn.enter(t, t.number) : s.any.enter(t);
}

/// The item of that number is done with the stage. Returns the token that waited and has the stage now.
[[gnu::always_inline]] inline pipeline_token* leave(pipeline_stage& s, std::uint64_t number) noexcept {
    if (s.by == admission::free) return nullptr;
    return s.by == admission::in_order ? s.turn.leave(number) : s.any.leave();
}

} // namespace

/// Runs the stage to which `t` was admitted. Returns `t`, if its next stage admits it, and the token that waited for the
/// stage that was left. A token for which there is no item, or whose stage threw, comes to rest, and its stage stays taken (P3):
/// the input or the run has ended.
[[gnu::always_inline]] inline pipeline_core::state::after_stage
pipeline_core::state::pass(pipeline_token& t) noexcept {
    pipeline_stage& s = *t.at;
    try {
        if (s.is_first()) [[unlikely]] {
            if (input_ended.load(std::memory_order_relaxed)) return {}; // a parallel first stage
            if (!s.run(pipeline, t.items)) {
                input_ended.store(true, std::memory_order_relaxed);
                return {};
            }
            t.number = number_of_new();
        } else {
            s.run(pipeline, t.items);
        }
    } catch (...) {
        fail();
        return {nullptr, nullptr, true};
    }
    const std::uint64_t number = t.number; // the token may be gone when it has entered
    t.at = s.next;
    pipeline_token* const other = leave(s, number);
    return {enter(t) ? &t : nullptr, other, false};
}

/// The next token of a parallel first stage that has not begun; null if all have, or if the input has ended.
pipeline_token* pipeline_core::state::one_more() noexcept {
    // relaxed: the tokens were made before the run
    if (begun.load(std::memory_order_relaxed) >= tokens || input_ended.load(std::memory_order_relaxed))
        return nullptr;
    const std::size_t i = begun.fetch_add(1, std::memory_order_relaxed);
    return i < tokens ? &token(i) : nullptr;
}

// ---- the silent zone

/// The caller has two tokens. True if it goes on with `other`, while a child carries `mine`; false if `other` was given to
/// the policy.
bool pipeline_core::state::hand_over(pipeline_token& mine, pipeline_token& other) {
    struct handed {
        state* of;
        pipeline_token* token;
    } own{this, &mine};
    const auto body = [](void* source) {
        const handed h = *static_cast<handed*>(source);
        child_started();
        h.of->carry(*h.token, false);
    };
    // A run whose rest thieves take again and again is a wide group, whose children the policy queues.
    if (run_silently(*live, no_hints, body, &own)) return true;
    submit(other);
    return false;
}

void pipeline_core::state::carry_silently(pipeline_token* mine, bool is_call) {
    while (mine && !is_over()) {
        if (typed && type_of(*mine) != engine::running_task().preempt_) return submit(*mine);
        if (mine->at->is_first() && mine->at->by == admission::free) {
            if (pipeline_token* const more = one_more(); more && hand_over(*mine, *more)) {
                mine = more;
                continue;
            }
        }
        after_stage next{};
        if (std::exchange(is_call, false)) {
            next = pass(*mine);
        } else {
            traced_call traced(*live, *mine->at);
            next = pass(*mine);
            traced.threw = next.threw;
        }
        if (next.mine && next.other)
            mine = hand_over(*next.mine, *next.other) ? next.other : next.mine;
        else
            mine = next.mine ? next.mine : next.other;
    }
}

// ---- the reported zone

void pipeline_core::state::step_reported(pipeline_token& t) {
    if (t.at->is_first() && t.at->by == admission::free)
        if (pipeline_token* const more = one_more()) submit(*more);
    const after_stage next = pass(t);
    // A worker that takes its youngest task first goes on with its own token.
    if (next.other) submit(*next.other);
    if (next.mine) submit(*next.mine);
}

void pipeline_core::state::carry(pipeline_token& t, bool is_call) noexcept {
    try {
        if (!reported)
            carry_silently(&t, is_call);
        else if (!is_over())
            step_reported(t);
    } catch (...) {
        fail();
    } // there was no stack, or no memory for a task: the tokens at hand are lost for this run
}

void pipeline_core::state::submit(pipeline_token& t) {
    const pipeline_stage& s = *t.at;
    worker& w = engine::enter_runtime();
    // Of the call, the same in every run, as far as the first stage is serial.
    const std::uint64_t item = s.is_first() ? made.load(std::memory_order_relaxed) : t.number;
    task* call_as_task = nullptr;
    try {
        call_as_task = &engine::make_flow_task(&w, *home, *live,
                                               {.run =
                                                    [](void* of, std::uint32_t i) {
                                                        auto& self = *static_cast<state*>(of);
                                                        self.carry(self.token(i), true);
                                                    },
                                                .graph = this,
                                                .number = index_of(t),
                                                .hint = &s.hint,
                                                .at_gate = around.get(),
                                                .in = inside,
                                                .incarnation = incarnation,
                                                .root = root,
                                                .preempts = preempts});
    } catch (...) {
        engine::leave_runtime();
        throw;
    }
    call_as_task->id_ = engine::graph_task_id(static_cast<std::uint32_t>(item * stage_count + s.index));
    // In the silent zone a worker counts such tasks down together: group_count.hpp.
    call_as_task->of_wide_group_ = !reported;
    engine::note_spawn(w, *call_as_task, trace::origin::child, &*live, trace::address_of(s.run));
    engine::submit_flow_task(&w, *home, *live, *call_as_task);
    engine::leave_runtime();
}

} // namespace weft::impl
