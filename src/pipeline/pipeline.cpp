#include "engine/run/default_engine.hpp"
#include "pipeline/pipeline_state.hpp"
#include "queue/chain.hpp"
#include "task/sanitizers.hpp"

#include <weft/error.hpp>
#include <weft/impl/entry.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

/// The runs of a pipeline: memory, beginning and end. flow.cpp has what happens between.
namespace weft::impl {

namespace {

constexpr std::size_t most_tokens = std::size_t{1} << 24;

std::size_t round_up(std::size_t n, std::size_t unit) noexcept { return (n + unit - 1) / unit * unit; }

} // namespace

pipeline_core::pipeline_core(void* pipeline, std::span<const stage_body> stages, std::size_t item_bytes,
                             std::size_t item_align)
    : state_(std::make_unique<state>()) {
    state& s = *state_;
    s.pipeline = pipeline;
    s.item_bytes = item_bytes;
    s.item_align = item_align;
    s.stage_count = static_cast<std::uint32_t>(stages.size());
    s.stages = std::make_unique<pipeline_stage[]>(stages.size());
    for (std::uint32_t k = 0; k < s.stage_count; ++k) {
        pipeline_stage& made = s.stages[k];
        static_cast<stage_body&>(made) = stages[k];
        made.index = k;
        made.next = &s.stages[k + 1 == s.stage_count ? 0 : k + 1];
        // The first stage makes the order: free tokens come to it, in any order.
        made.by = made.kind == stage_kind::parallel                    ? admission::free
                  : made.kind == stage_kind::serial || made.is_first() ? admission::one_at_a_time
                                                                       : admission::in_order;
        s.typed = s.typed || made.hint.preempt != preemption::runtime_default;
    }
}

pipeline_core::~pipeline_core() = default;

void pipeline_core::run(std::size_t tokens) {
    if (tokens == 0 || tokens > most_tokens)
        throw error("a pipeline needs tokens, one for each item that may be in it at a time",
                    fmt::format("{} tokens", tokens), fmt::format("1 to {}", most_tokens));
    state& s = *state_;
    {
        const std::lock_guard guard(s.switching);
        if (s.running)
            throw error("a pipeline runs already", "a second run() at the same time",
                        "one run() after the other, or a pipeline for each");
        s.running = true;
    }
    struct last {
        state& of;
        ~last() {
            const std::lock_guard guard(of.switching);
            of.live.reset();
            of.running = false;
        }
    } const at_end{s};
    if (hot_self()) return s.run_on_worker(tokens);
    auto root = [&] { s.run_on_worker(tokens); };
    run_as_root(root);
}

void pipeline_core::cancel() noexcept {
    const std::lock_guard guard(state_->switching);
    if (state_->live) impl::cancel(*state_->live);
}

void pipeline_core::state::reserve(std::size_t most) {
    if (most == tokens) return;
    const std::size_t align = std::max(alignof(pipeline_token), item_align);
    const std::size_t items_at = round_up(sizeof(pipeline_token), item_align);
    const std::size_t bytes = round_up(items_at + item_bytes, align);
    if (most > SIZE_MAX / bytes) throw std::bad_alloc();
    memory.reset();
    tokens = 0;
    memory = {static_cast<std::byte*>(::operator new[](most * bytes, std::align_val_t{align})),
              release{std::align_val_t{align}}};
    token_bytes = bytes;
    for (std::size_t i = 0; i < most; ++i) {
        auto* const t = ::new (memory.get() + i * bytes) pipeline_token;
        t->items = memory.get() + i * bytes + items_at;
    }
    tokens = most;
}

void pipeline_core::state::begin(std::size_t most) {
    reserve(most);
    for (std::uint32_t k = 0; k < stage_count; ++k) {
        if (stages[k].by == admission::in_order) stages[k].turn.reset(most);
        if (stages[k].by == admission::one_at_a_time) stages[k].any.reset(false, {});
    }
    queue::chain<pipeline_token> free;
    for (std::size_t i = 0; i < most; ++i) {
        token(i).at = &stages[0];
        if (i > 0) free.push_back(&token(i));
    }
    if (stages[0].by == admission::one_at_a_time)
        stages[0].any.reset(true, std::move(free)); // by the first token
    made.store(0, std::memory_order_relaxed);
    begun.store(1, std::memory_order_relaxed);
    input_ended.store(false, std::memory_order_relaxed);
    failed.store(false, std::memory_order_relaxed);

    worker& w = engine::enter_runtime();
    const task& me = *w.current->running;
    home = &w.engine;
    inside = &w.arena();
    incarnation = inside->incarnation();
    around = me.claim_ ? me.claim_->shared_from_this() : nullptr;
    root = me.root_;
    preempts = me.preempt_;
    reported = !me.silent_;
    engine::leave_runtime();

    const std::lock_guard guard(switching);
    live.emplace();
    live->around_ = group_of_task();
    live->apart_ = reported; // for a policy that saw no group begin, the caller does not wait for children
}

/// Every task of the run has ended (P2). What a failure or a cancellation has left is destroyed (P4).
void pipeline_core::state::end() noexcept {
    for (std::size_t i = 0; i < tokens; ++i) {
        pipeline_token& t = token(i);
        if (pipeline_stage& at = *std::exchange(t.at, &stages[0]); !at.is_first()) at.drop(t.items);
    }
    around.reset();
}

void pipeline_core::state::run_on_worker(std::size_t most) {
    begin(most);
    std::exception_ptr unforeseen; // there was no stack, or no memory for a task
    try {
        const auto body = [](void* source) {
            state* const of = static_cast<state*>(source);
            child_started();
            of->carry(of->token(0), false);
        };
        if (reported || !run_silently(*live, no_hints, body, this)) submit(token(0));
    } catch (...) {
        unforeseen = std::current_exception();
        impl::cancel(*live);
    }
    try {
        wait_group(*live);
    } catch (...) {
        if (unforeseen)
            count_suppressed();
        else
            unforeseen = std::current_exception();
    }
    end();
    if (failed.load(std::memory_order_relaxed)) {
        if (unforeseen) count_suppressed();
        std::rethrow_exception(std::exchange(first_error, nullptr));
    }
    if (unforeseen) std::rethrow_exception(unforeseen);
}

} // namespace weft::impl
