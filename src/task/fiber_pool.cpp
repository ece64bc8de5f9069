#include "task/fiber_pool.hpp"

#include <algorithm>
#include <mutex>
#include <new>

namespace weft {

fiber_pool::~fiber_pool() {
    while (fiber* f = free_) {
        free_ = f->free_next;
        destroy(f);
    }
}

fiber* fiber_pool::make() {
    const stack memory = map_stack(stack_bytes_);
    constexpr std::size_t align = 64;
    auto at = reinterpret_cast<std::uintptr_t>(memory.top()) - sizeof(fiber);
    at &= ~(align - 1);
    auto* f = new (reinterpret_cast<void*>(at)) fiber;
    f->memory = memory;
    const auto usable = at - reinterpret_cast<std::uintptr_t>(memory.limit());
    f->context = boost::context::detail::make_fcontext(reinterpret_cast<void*>(at), usable, entry_);
#ifdef WEFT_TSAN
    f->tsan_fiber = __tsan_create_fiber(0);
#endif
    const std::lock_guard guard(register_lock_);
    f->all_next = all_;
    if (all_) all_->all_before = f;
    all_ = f;
    return f;
}

void fiber_pool::destroy(fiber* f) noexcept {
#ifdef WEFT_TSAN
    __tsan_destroy_fiber(f->tsan_fiber);
#endif
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
        if (free_) return pop();
        ++mapped_;
        peak_ = mapped_ > peak_ ? mapped_ : peak_;
    }
    try {
        return make();
    } catch (...) {
        std::lock_guard guard(lock_);
        --mapped_;
        throw;
    }
}

void fiber_pool::give(fiber* f) noexcept {
    const std::lock_guard guard(lock_);
    push(f);
}

fiber* fiber_pool::pop() noexcept {
    fiber* const f = free_;
    free_ = f->free_next;
    free_count_.store(free_count_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return f;
}

void fiber_pool::push(fiber* f) noexcept {
    f->free_next = free_;
    free_ = f;
    free_count_.store(free_count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool fiber_pool::trim(std::size_t most) noexcept {
    if (free_count_.load(std::memory_order_relaxed) <= keep_) return false;
    fiber* gone = nullptr;
    {
        const std::lock_guard guard(lock_);
        for (; free_count_.load(std::memory_order_relaxed) > keep_ && most > 0; --most) {
            fiber* const f = pop();
            --mapped_;
            f->free_next = gone;
            gone = f;
        }
    }
    const bool any = gone;
    while (fiber* f = gone) {
        gone = f->free_next;
        destroy(f);
    }
    return any;
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
