#pragma once

#include "engine/run/completion.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/independent_tasks.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/worker.hpp"
#include "task/fiber.hpp"
#include "task/sanitizers.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>

namespace weft::engine {

/// The oldest entry of the running chain that was not exposed yet, or null. `of` becomes the fiber that it
/// belongs to.
inline impl::frame* oldest_hidden(const worker& w, fiber*& of) noexcept {
    of = w.oldest;
    if (!of) return nullptr;
    if (impl::frame* f = of->split->next) {
        if (of != w.current) return f;
        // In a reported task a fork stays linked for two instructions, until the fork has looked at the zone.
        return of->running->silent_ && has_number(w, *of, *f) ? f : nullptr;
    }
    // The parent's frame must stay until the child has moved its closure.
    return of == w.current || !of->above->child_has_started ? nullptr : &of->above->parent_continuation;
}

/// Whether an entry of the running chain was not exposed yet, also if it must not be now.
inline bool has_hidden(const worker& w) noexcept {
    return w.oldest && (w.oldest != w.current || w.current->split->next);
}

/// The rest of a task that adds children is handed over once more. A group to which that happens again
/// and again is wide, also if the owner comes first each time and reclaims the entry. Each future has a group of its
/// own, so the task counts instead.
inline void count_handover(const worker& w, task& parent, group& g) noexcept {
    if (!w.engine.need.wide_groups) return;
    if (g.apart_) {
        if (parent.handovers_ < group::handovers_to_wide) ++parent.handovers_;
        return;
    }
    const auto before = g.handovers_.load(std::memory_order_relaxed);
    if (before >= group::handovers_to_wide) return;
    // Several tasks may add children at the same time. A lost count only makes the group wide later.
    g.handovers_.store(before + 1, std::memory_order_relaxed);
    if (before + 1 == group::handovers_to_wide)
        g.flags_.fetch_or(group::flag_wide,
                          std::memory_order_relaxed); // decides nothing but a spawn's order
}

/// Hands one entry to one worker. The constructor writes all that the thief will read, and changes the
/// owner's view of its chain, before the entry comes within the thief's reach. If the thief does not take the
/// entry, undo() restores both. Requires: the thief has read what this owner gave it before (A3).
class exposure {
public:
    exposure(worker& owner, fiber& of, impl::frame& entry, worker_id thief) noexcept
        : owner_(owner)
        , of_(of)
        , entry_(entry)
        , oldest_before_(owner.oldest)
        , split_before_(of.split) {
        entry.thief = thief;
        if (entry.run) {
            entry.of = of.running;
            if (const std::size_t bytes = owner.engine.need.task_bytes) {
                std::byte* const copy =
                    owner.exposed_task_data.get() + static_cast<std::size_t>(thief) * bytes;
                entry.bytes = sanitizer::copy_unseen(copy, of.running + 1, bytes);
            }
            begin_completion(entry);
            of.split = &entry;
        } else {
            counted_ = static_cast<continuation&>(entry).in;
            counted_->open_.fetch_add(1, std::memory_order_relaxed); // the child above counts from now on
            child_detached(owner);
            count_handover(owner, *of.running, *counted_);
            if (owner.arena().is_team()) [[unlikely]]
                owner.arena().retain();
            owner.oldest = of.above;
        }
    }
    void undo() noexcept {
        of_.split = split_before_;
        owner_.oldest = oldest_before_;
        if (!counted_) return;
        counted_->open_.fetch_sub(1, std::memory_order_relaxed); // the owner's own 1 keeps it above 0 (G1)
        child_settled(owner_);
        if (owner_.arena().is_team()) [[unlikely]]
            owner_.arena().cancel_retain();
        static_cast<continuation&>(entry_).thief = continuation::unexposed;
    }

private:
    worker& owner_;
    fiber& of_;
    impl::frame& entry_;
    fiber* const oldest_before_;
    impl::frame* const split_before_;
    group* counted_ = nullptr;
};

} // namespace weft::engine
