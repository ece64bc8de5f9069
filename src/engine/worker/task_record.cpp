#include "engine/worker/task_record.hpp"

#include "engine/ports/host.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "task/sanitizers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace weft::engine {

namespace {

std::size_t round_up(std::size_t n, std::size_t unit) noexcept { return (n + unit - 1) / unit * unit; }

/// The identity of the n-th child: splitmix64 of the path to it, so the same in every run of the same
/// program.
std::uint64_t child_id(std::uint64_t parent, std::uint32_t n) noexcept {
    std::uint64_t z = parent + 0x9e3779b97f4a7c15u * (std::uint64_t{n} + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) | 1; // 0 means unknown
}

} // namespace

std::uint64_t graph_task_id(std::uint32_t n) noexcept { return child_id(0, n); }

task& make_task(worker* w, engine& e, std::size_t closure_bytes, std::size_t closure_align) {
    const std::size_t closure_at =
        round_up(sizeof(task) + e.need.task_bytes, std::max<std::size_t>(closure_align, 1));
    std::size_t bytes = closure_at + closure_bytes;
    std::size_t slack = closure_align > block_cache::unit / 4 ? closure_align : 0; // blocks are aligned to 16
    bytes += slack;
    bytes = round_up(bytes, block_cache::unit);
    const bool is_large = bytes > block_cache::unit * block_cache::classes;
    const bool has_pages = is_large && e.blocks.pages.are_used();
    void* const block = has_pages  ? block_pages::take_large(bytes)
                        : is_large ? ::operator new(bytes)
                        : w        ? w->blocks.take(bytes)
                                   : e.blocks.allocate(bytes / block_cache::unit);
    auto* t = ::new (block) task;
    t->has_pages_ = has_pages;
    sanitizer::clear_unseen(t + 1, e.need.task_bytes);
    t->arena_ = w ? &w->arena() : &e.outermost; // T6
    t->block_bytes_ = static_cast<std::uint32_t>(bytes);
    if (closure_bytes) {
        auto at = reinterpret_cast<std::uintptr_t>(block) + closure_at;
        if (slack) at = round_up(at, closure_align);
        t->closure_ = reinterpret_cast<void*>(at);
    }
    return *t;
}

void free_task(worker* w, task& t) noexcept {
    const std::size_t bytes = t.block_bytes_;
    const bool has_pages = t.has_pages_;
    block_depot& depot = t.arena_->engine.blocks;
    t.~task();
    if (has_pages)
        block_pages::give_large(&t, bytes);
    else if (bytes > block_cache::unit * block_cache::classes)
        ::operator delete(&t);
    else if (w)
        w->blocks.give(&t, bytes);
    else
        depot.give_back(bytes / block_cache::unit, &t);
}

void adopt(task& child, task* parent, group* in, const hints& h) noexcept {
    child.parent_ = parent;
    child.group_ = in;
    child.scope_ = in;
    child.hint_ = h;
    child.preempt_ = h.preempt != preemption::runtime_default ? h.preempt
                     : parent                                 ? parent->preempt_
                                                              : child.arena_->engine.preempts;
    if (child.preempt_ != preemption::off) [[unlikely]]
        child.arena_->engine.host.preemptible_is_made();
    if (in) child.index_ = static_cast<std::int32_t>(in->spawned_.fetch_add(1, std::memory_order_relaxed));
    if (parent) {
        child.claim_ = parent->claim_;
        child.level_ = parent->level_ + 1;
        child.root_ = parent->root_;
        child.id_ = child_id(parent->id_, parent->children_++);
    }
}

task& task_of_frame(worker& thief, impl::frame& f) {
    if (!f.run) { // a continuation: the parent's own task continues
        auto& k = static_cast<continuation&>(f);
        fiber& parent = *k.parent;
        k.read.store(true, std::memory_order_release); // pairs with the loop at the child's end
        // `f` may be gone from here on.
        task& t = *parent.running;
        t.fiber_ = &parent;
        t.arena_ = &thief.arena(); // which is that of the parent
        t.state_ = task_state::suspended;
        return t;
    }
    const task& of = *f.of;
    task& t = make_task(&thief, thief.engine, 0, 1);
    if (const std::size_t bytes = thief.engine.need.task_bytes)
        sanitizer::copy_unseen(&t + 1, f.bytes, bytes);
    t.frame_ = &f;
    t.number_ = f.number;
    t.parent_ = of.parent_;
    t.scope_ = of.scope_;
    t.claim_ = of.claim_;
    t.level_ = of.level_;
    t.root_ = of.root_;
    t.preempt_ = of.preempt_;
    t.silent_ = true;
    return t;
}

bool is_root(const task& t) noexcept {
    return t.is_root_; // frames and silent children have the level of their task, and so have tasks of graphs
}

std::string described(const task& t) {
    // Tasks of a silent zone have no identity. Roots have no group in which they were spawned.
    if (is_root(t)) return fmt::format("root {}", t.root());
    return fmt::format("task {}{} of level {} below root {}",
                       t.id() ? fmt::format("{:x}", t.id()) : "without a number",
                       t.hint().name.empty() ? "" : fmt::format(" '{}'", t.hint().name), t.level(), t.root());
}

} // namespace weft::engine
