#pragma once

#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "gate/claim.hpp"
#include "pipeline/turns.hpp"
#include "pipeline/turnstile.hpp"
#include "queue/cache_line.hpp"
#include "queue/list_hook.hpp"
#include "queue/spin_lock.hpp"

#include <weft/impl/group.hpp>
#include <weft/impl/pipeline.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>

namespace weft::impl {

struct pipeline_stage;

/// A token: what one item after the other needs while it is in the pipeline. The memory of its items lies behind it.
/// It belongs to the thread that runs its stage, or to the stage that it waits for. It goes round: behind the last stage
/// it is free, and waits for the first one.
struct alignas(queue::k_cache_line_bytes) pipeline_token {
    queue::list_hook queue_link{};
    void* items = nullptr;
    std::uint64_t number = 0;     ///< of the item, from the end of the first stage on
    pipeline_stage* at = nullptr; ///< whose turn is next; if it is not the first one, an item waits for it
};

/// How a token enters a stage.
enum class admission : std::uint8_t { free, one_at_a_time, in_order };

struct alignas(queue::k_cache_line_bytes) pipeline_stage : stage_body {
    admission by = admission::free;
    std::uint32_t index = 0;
    pipeline_stage* next = nullptr; ///< behind the last stage comes the first
    // What serial stages change lies apart from what all workers read.
    alignas(queue::k_cache_line_bytes) pipelines::turnstile<pipeline_token> any;
    pipelines::turns<pipeline_token> turn;

    bool is_first() const noexcept { return index == 0; }
};

struct pipeline_core::state {
    void* pipeline = nullptr;
    std::unique_ptr<pipeline_stage[]> stages{};
    std::uint32_t stage_count = 0;
    std::size_t item_bytes = 0, item_align = 0;

    // ---- memory of the tokens, kept from run to run
    struct release {
        std::align_val_t align;
        void operator()(std::byte* at) const noexcept { ::operator delete[](at, align); }
    };
    std::unique_ptr<std::byte[], release> memory{nullptr, release{std::align_val_t{1}}};
    std::size_t tokens = 0, token_bytes = 0;

    // ---- the present run
    /// Guards `running` and the life of `live`, for cancel().
    engine::without_ticks<queue::spin_lock<>> switching{};
    bool running = false;
    engine::engine* home = nullptr;
    engine::arena* inside = nullptr;
    std::uint32_t incarnation = 0;
    std::shared_ptr<claim> around{}; ///< of the task that runs the pipeline
    std::int32_t root = 0;
    preemption preempts = preemption::off;
    bool reported = false;            ///< every call of a stage is a task of the policy
    bool typed = false;               ///< some stage has a type of preemption of its own
    std::exception_ptr first_error{}; ///< written by the thread that set `failed`, before its task ends
    // What changes during a run lies apart from what is only read, and from each other.
    alignas(queue::k_cache_line_bytes) std::atomic<std::uint64_t> made{0}; ///< items so far
    std::atomic<std::size_t> begun{0}; ///< tokens that a parallel first stage has got
    std::atomic<bool> input_ended{false};
    std::atomic<bool> failed{false};
    alignas(queue::k_cache_line_bytes)
        std::optional<group> live{}; ///< counts the tasks of the run; no other count is kept

    pipeline_token& token(std::size_t i) noexcept {
        return *std::launder(reinterpret_cast<pipeline_token*>(memory.get() + i * token_bytes));
    }
    std::uint32_t index_of(const pipeline_token& t) const noexcept {
        return static_cast<std::uint32_t>(
            static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&t) - memory.get()) / token_bytes);
    }
    bool is_over() const noexcept;

    // pipeline.cpp
    void run_on_worker(std::size_t most);
    void reserve(std::size_t most);
    void begin(std::size_t most);
    void end() noexcept;

    // flow.cpp
    /// Runs a token that has been admitted to its stage; in the silent zone further ones, as long as this task has any.
    /// `is_call`: the running task is the task of that call, as submit() makes it, and the trace names it so.
    void carry(pipeline_token&, bool is_call) noexcept;
    /// Makes a task of the policy for the stage to which the token was admitted.
    void submit(pipeline_token&);

private:
    struct after_stage {
        pipeline_token *mine = nullptr, *other = nullptr;
        bool threw = false;
    };
    void carry_silently(pipeline_token*, bool is_call);
    void step_reported(pipeline_token&);
    bool hand_over(pipeline_token& mine, pipeline_token& other);
    pipeline_token* one_more() noexcept;
    after_stage pass(pipeline_token&) noexcept;
    std::uint64_t number_of_new() noexcept;
    void fail() noexcept;
    preemption type_of(const pipeline_token&) const noexcept;
};

} // namespace weft::impl
