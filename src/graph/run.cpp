#include "engine/ports/meter.hpp"
#include "engine/team/admission.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/flow.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/worker.hpp"
#include "graph/graph_state.hpp"
#include "task/sanitizers.hpp"

#include <weft/join.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

/// A run of a graph. In the silent zone, the worker that finishes a task goes on with one of the tasks that
/// became ready by it, and forks for the others: ready tasks lie in frames, where idle workers find them. So
/// that part of a run has ended when the forks have been joined, and no count of tasks is kept. Tasks with a
/// claim, and in the reported zone all tasks, are tasks of the policy instead; the group `live` counts them.
namespace weft {

using impl::graph_node;

namespace {

/// Forks nest as deep as there are ready tasks that no thief has taken: at the end of the stack they are put
/// aside instead.
bool stack_is_short() noexcept {
    const std::byte here{};
    const stack& s = engine::current_stack();
    return &here - s.limit() < std::min<std::ptrdiff_t>((s.top() - s.limit()) / 2, 256 * 1024);
}

} // namespace

impl::share impl::share_of_task() noexcept {
    const task& me = engine::running_task();
    return {me.rank(), me.width()};
}

void graph::state::run_sources(std::uint32_t first, std::uint32_t last) {
    if (reported) {
        for (; first < last; ++first) submit_ready(sources[first]);
        return;
    }
    if (last - first <= 1) {
        if (first < last) run_from(sources[first]);
        return;
    }
    const std::uint32_t middle = first + (last - first) / 2;
    join([=, this] { run_sources(first, middle); }, [=, this] { run_sources(middle, last); });
}

void graph::state::run_from(std::uint32_t t) {
    for (;;) {
        graph_node& n = nodes[t];
        ready_list ready;
        if (claims(n) && n.failed_in.load(std::memory_order_relaxed) != run) {
            submit_ready(t);
        } else {
            execute_here(n, t);
            ready = finish(n);
            if (options.once) forget(t);
        }
        if (ready.count == 0) {
            t = take_aside();
            if (t == none) return;
            continue;
        }
        t = take(ready);
        if (ready.count == 0) continue;
        if (stack_is_short()) {
            put_aside(ready);
            continue;
        }
        return join([=, this] { run_from(t); }, [=, this] { run_list(ready); });
    }
}

void graph::state::run_alone(std::uint32_t t) {
    graph_node& n = nodes[t];
    task& me = engine::running_task();
    const bool has_claim = me.claims_, is_share = me.share_;
    const bool runs = traced && n.failed_in.load(std::memory_order_relaxed) != run;
    execute(n, is_share);
    if (impl::hot_self()->slow) [[unlikely]]
        engine::note_end_early(outcome_of(n, runs));
    // acq_rel: pairs with the same decrement of the other shares: what they have done comes before the end (M3)
    if (is_share) sanitizer::happens_before(&me.claim_->shares_left);
    if (is_share && me.claim_->shares_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (is_share) sanitizer::happens_after(&me.claim_->shares_left);
    if (has_claim || (is_share && !me.claim_->cores.is_molded)) engine::release_claim();
    ready_list ready = finish(n);
    if (levels) levels->ended(t);
    if (options.once) forget(t);
    // A task that waits for a team's task does not belong to the team.
    if (!reported && &engine::arena_of_caller() == inside) {
        if (ready.count > 0) run_list(ready);
        return;
    }
    while (ready.count > 0) submit_ready(take(ready));
}

void graph::state::submit_ready(std::uint32_t t) {
    impl::worker* w = impl::hot_self();
    const bool at_home = w && &w->engine == home;
    if (at_home) w = &engine::enter_runtime();
    const graph_node& n = nodes[t];
    const bool runs = n.failed_in.load(std::memory_order_relaxed) != run;
    const bool is_molded = runs && claims(n) && extras[n.extras].at_gate->cores.is_molded;
    const bool has_claim = runs && claims(n) && !is_molded;
    std::size_t uses = 0;
    if (keeps_accesses && home->need.uses)
        for (std::uint32_t e = n.accesses; e; e = edges[e].next) ++uses;
    task& made = engine::make_flow_task(
        at_home ? w : nullptr, *home, *live,
        {.run = [](void* of, std::uint32_t number) { static_cast<state*>(of)->run_alone(number); },
         .graph = this,
         .number = t,
         .hint = &hint_of(n),
         .at_gate = has_claim || is_molded ? extras[n.extras].at_gate.get() : around.get(),
         .claims = has_claim,
         .in = inside,
         .incarnation = incarnation,
         .root = root,
         .preempts = preempts,
         .graph_id = levels ? levels->id() : 0,
         .bottom_level = levels ? levels->bottom_level(t) : 0,
         .uses = uses});
    if (has_claim && made.arena_ != inside) resolve_arena(t, *made.arena_); // it outlives the team
    if (uses > 0) describe_uses(n, made);
    if (traced) made.number_ = numbers[t];
    if (is_molded)
        engine::make_moldable(at_home ? w : nullptr, *home, made, extras[n.extras].at_gate->cores.count);
    if (at_home && levels && &w->arena() == inside && levels->has_grown()) {
        const std::lock_guard guard(adding);
        inside->scheduler->graph_grew(w->local, *levels);
        levels->told();
    }
    engine::submit_flow_task(at_home ? w : nullptr, *home, *live, made);
    if (at_home) engine::leave_runtime();
}

void graph::state::describe_uses(const graph_node& n, task& made) {
    const std::lock_guard guard(adding); // an adder may make data known at the same time
    auto* use = const_cast<data_access*>(made.uses_.data() + made.uses_.size());
    for (std::uint32_t e = n.accesses; e; e = edges[e].next) {
        const std::uint32_t access = edges[e].to;
        auto& d = data[data_register::datum_of(access)];
        if (d.home < 0 && d.address) d.home = home->meter.home_of(d.address, d.bytes);
        *--use = {data_register::datum_of(access), d.bytes,
                  static_cast<std::uint8_t>(data_register::mode_of(access)), d.home};
    }
}

void graph::state::run_list(ready_list ready) {
    if (ready.count == 1) return run_from(ready.first);
    if (stack_is_short()) {
        const std::uint32_t t = take(ready);
        put_aside(ready);
        return run_from(t);
    }
    // The front half first.
    ready_list back{ready.first, ready.count - ready.count / 2};
    for (std::uint32_t i = 1; i < ready.count / 2; ++i) back.first = nodes[back.first].next_ready;
    back.first = std::exchange(nodes[back.first].next_ready, none);
    ready.count /= 2;
    join([=, this] { run_list(ready); }, [=, this] { run_list(back); });
}

/// `ran`: no task that it depends on has failed.
trace::outcome graph::state::outcome_of(const graph_node& n, bool ran) const noexcept {
    if (!ran) return trace::outcome::cancelled;
    return n.failed_in.load(std::memory_order_relaxed) == run ? trace::outcome::threw : trace::outcome::done;
}

void graph::state::execute_here(graph_node& n, std::uint32_t t) noexcept {
    if (!impl::hot_self()->slow) [[likely]]
        return execute(n);
    const bool runs = n.failed_in.load(std::memory_order_relaxed) != run;
    const std::uint32_t number = traced ? numbers[t] : 0;
    engine::note_inline_begin(number);
    execute(n);
    engine::note_inline_end(number, outcome_of(n, runs));
}

void graph::state::execute(graph_node& n, bool is_share) noexcept {
    n.missing.store(n.waits_for, std::memory_order_relaxed); // for the next run
    sanitizer::happens_after(this);
    sanitizer::happens_after(&n.missing);
    if (!is_share && n.failed_in.load(std::memory_order_relaxed) == run) return; // shares run together
    try {
        n.act(n.room, true);
    } catch (...) {
        n.failed_in.store(run, std::memory_order_relaxed); // published by finish(), which closes `after` (E3)
        if (failed.exchange(true, std::memory_order_relaxed))
            impl::count_suppressed();
        else
            first_error = std::current_exception();
    }
}

graph::state::ready_list graph::state::finish(graph_node& n) noexcept {
    constexpr std::uint64_t low = 0xffff'ffff;
    sanitizer::happens_before(&live);
    std::uint64_t head = n.after.load(std::memory_order_relaxed);
    // acquire: the edges; release: that it has failed. Pairs with the CAS in link() (E1, E3)
    while (!n.after.compare_exchange_weak(head, (head & low) | std::uint64_t{run} << 32,
                                          std::memory_order_acq_rel, std::memory_order_relaxed)) {}
    const bool has_failed = n.failed_in.load(std::memory_order_relaxed) == run;
    bool has_priorities = false;
    ready_list ready;
    for (auto e = static_cast<std::uint32_t>(head & low); e; e = edges[e].next) {
        const std::uint32_t t = edges[e].to;
        graph_node& next = nodes[t];
        if (has_failed)
            next.failed_in.store(run, std::memory_order_relaxed); // published by the decrement below (E3)
        sanitizer::happens_before(&next.missing);
        // release: what this task has written; acquire: what the other tasks have written that it waits for.
        // Pairs with the same decrement of those tasks and of the adder in commit() (E2). If this task is the only
        // one that is left, no other thread changes the count, so an acquire load replaces the exchange.
        if (next.missing.load(std::memory_order_acquire) != 1 &&
            next.missing.fetch_sub(1, std::memory_order_acq_rel) != 1)
            continue;
        next.next_ready = ready.first;
        ready.first = t;
        ++ready.count;
        has_priorities = has_priorities || (next.extras && hint_of(next).priority != 0);
    }
    if (has_priorities && ready.count > 1) sort(ready);
    return ready;
}

/// Tasks of larger priority come first; of equal ones, the older task does.
void graph::state::sort(ready_list& ready) noexcept {
    const auto priority = [&](std::uint32_t t) { return hint_of(nodes[t]).priority; };
    try {
        std::vector<std::uint32_t> all;
        all.reserve(ready.count);
        for (std::uint32_t t = ready.first; t != none; t = nodes[t].next_ready) all.push_back(t);
        std::ranges::stable_sort(all, std::greater<>(), priority);
        std::uint32_t* last = &ready.first;
        for (const std::uint32_t t : all) last = &nodes[*last = t].next_ready;
        *last = none;
    } catch (const std::bad_alloc&) {} // a hint
}

std::uint32_t graph::state::take(ready_list& ready) noexcept {
    const std::uint32_t t = ready.first;
    ready.first = nodes[t].next_ready;
    --ready.count;
    return t;
}

void graph::state::put_aside(ready_list ready) noexcept {
    const std::lock_guard guard(asiding);
    while (ready.count > 0) {
        const std::uint32_t t = take(ready);
        nodes[t].next_ready = aside.first;
        aside.first = t;
        ++aside.count;
    }
    aside_count.store(aside.count, std::memory_order_relaxed);
}

std::uint32_t graph::state::take_aside() noexcept {
    // relaxed: a thread that has put tasks aside looks here itself before it ends
    if (aside_count.load(std::memory_order_relaxed) == 0) return none;
    const std::lock_guard guard(asiding);
    if (aside.count == 0) return none;
    const std::uint32_t t = aside.first;
    aside.first = nodes[t].next_ready;
    aside_count.store(--aside.count, std::memory_order_relaxed);
    return t;
}

} // namespace weft
