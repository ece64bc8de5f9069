#include "task/fiber_pool.hpp"

#include "task/stack_switch.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace weft {

fiber_pool::fiber_pool(std::size_t stack_bytes, std::size_t keep, entry_fn entry) noexcept
    : stack_bytes_(stack_bytes)
    , keep_(keep)
    , entry_(entry) {
    sanitizer::begin_switches();
}

fiber_pool::~fiber_pool() {
    destroy_all(free_);
    destroy_all(reserve_);
}

fiber* fiber_pool::make() {
    const stack memory = map_stack(stack_bytes_);
    constexpr std::size_t align = 64;
    auto at = reinterpret_cast<std::uintptr_t>(memory.top()) - sizeof(fiber);
    at &= ~(align - 1);
    auto* f = new (reinterpret_cast<void*>(at)) fiber;
    f->memory = memory;
    const auto usable = at - reinterpret_cast<std::uintptr_t>(memory.limit());
    f->context = make_context(reinterpret_cast<void*>(at), usable, entry_);
    f->modes = floating_point_modes::of_this_thread();
    f->parent_continuation.thief = continuation::unexposed;
    f->own.record.silent_ = true;
    f->own.record.state_ = task_state::running; // whenever it runs
    sanitizer::begin_fiber(f->sanitized);
    const std::lock_guard guard(register_lock_);
    f->all_next = all_;
    if (all_) all_->all_before = f;
    all_ = f;
    return f;
}

void fiber_pool::destroy(fiber* f) noexcept {
    sanitizer::end_fiber(f->sanitized);
    const stack memory = f->memory;
    const std::size_t touched = touched_bytes(memory);
    {
        const std::lock_guard guard(register_lock_);
        high_water_ = std::max(high_water_, touched);
        (f->all_before ? f->all_before->all_next : all_) = f->all_next;
        if (f->all_next) f->all_next->all_before = f->all_before;
    }
    // Nothing on the stack needs a destructor: the loop of a free fiber holds no object.
    unmap_stack(memory);
}

fiber* fiber_pool::take() {
    {
        std::lock_guard guard(lock_);
        if (free_) {
            fiber* const f = pop();
            const std::size_t left = free_count_.load(std::memory_order_relaxed);
            fewest_ = std::min(fewest_, left);
            unused_ = std::min(unused_, left);
            return f;
        }
        ++mapped_;
        peak_ = mapped_ > peak_ ? mapped_ : peak_;
    }
    try {
        fiber* const f = make();
        take_stock();
        return f;
    } catch (...) {
        {
            std::lock_guard guard(lock_);
            --mapped_;
        }
        take_stock(); // no lasting shortage if the limits say that there is room: the kernel may have been short of memory
        throw;
    }
}

fiber* fiber_pool::take_quietly() noexcept {
    // As long as many stacks fit, mapping one does not fail, and what reports a failure allocates.
    return few_fit_.load(std::memory_order_relaxed) ? nullptr : take();
}

void fiber_pool::take_stock() noexcept {
    // A quarter is left for tasks that have begun and have to wait.
    const std::size_t there = mapped(), fit = stacks_that_fit(stack_bytes_, there);
    few_fit_.store(fit < few_stacks || fit < there / 3, std::memory_order_relaxed);
}

void fiber_pool::reserve(std::size_t count) {
    for (; count > 0; --count) give_reserved(make());
}

fiber* fiber_pool::take_reserved() noexcept {
    const std::lock_guard guard(lock_);
    fiber* const f = reserve_;
    if (f) reserve_ = f->free_next;
    return f;
}

void fiber_pool::give_reserved(fiber* f) noexcept {
    const std::lock_guard guard(lock_);
    f->free_next = reserve_;
    reserve_ = f;
}

void fiber_pool::give(fiber* f) noexcept {
    const std::lock_guard guard(lock_);
    push(f);
}

fiber* fiber_pool::pop() noexcept {
    fiber* const f = free_;
    free_ = f->free_next;
    f->is_in_pool = false;
    free_count_.store(free_count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return f;
}

void fiber_pool::push(fiber* f) noexcept {
    f->free_next = free_;
    f->is_in_pool = true;
    free_ = f;
    free_count_.store(free_count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void fiber_pool::release_pages(fiber& f) noexcept {
    const std::lock_guard guard(register_lock_);
    high_water_ = std::max(high_water_, weft::release_pages(f.memory));
}

void fiber_pool::release_pages() noexcept {
    const std::lock_guard guard(register_lock_); // no fiber goes
    for (fiber* f = all_; f; f = f->all_next) {
        const std::lock_guard stays_free(lock_);
        if (f->is_in_pool) high_water_ = std::max(high_water_, weft::release_pages(f->memory));
    }
}

bool fiber_pool::trim(std::size_t most, clock::time_point now) noexcept {
    if (!has_spare()) return false;
    fiber* gone = nullptr;
    {
        const std::lock_guard guard(lock_);
        if (now - period_began_ >= linger) {
            period_began_ = now;
            unused_ = std::exchange(fewest_, free_count_.load(std::memory_order_relaxed));
        }
        gone = spare(std::min(most, unused_));
    }
    const bool any = gone;
    destroy_all(gone);
    return any;
}

void fiber_pool::trim() noexcept {
    fiber* gone = nullptr;
    {
        const std::lock_guard guard(lock_);
        gone = spare(mapped_);
    }
    destroy_all(gone);
}

fiber* fiber_pool::spare(std::size_t most) noexcept {
    fiber* list = nullptr;
    for (; has_spare() && most > 0; --most) {
        fiber* const f = pop();
        --mapped_;
        fewest_ -= std::min<std::size_t>(fewest_, 1);
        unused_ -= std::min<std::size_t>(unused_, 1);
        f->free_next = list;
        list = f;
    }
    return list;
}

void fiber_pool::destroy_all(fiber* list) noexcept {
    while (fiber* f = list) {
        list = f->free_next;
        destroy(f);
    }
    if (few_fit_.load(std::memory_order_relaxed)) take_stock();
}

std::size_t fiber_pool::mapped() const noexcept {
    std::lock_guard guard(lock_);
    return mapped_;
}

std::size_t fiber_pool::peak() const noexcept {
    std::lock_guard guard(lock_);
    return peak_;
}

std::size_t fiber_pool::stack_high_water() const {
    const std::lock_guard guard(register_lock_);
    std::size_t most = high_water_;
    for (const fiber* f = all_; f; f = f->all_next) most = std::max(most, touched_bytes(f->memory));
    return most;
}

} // namespace weft
