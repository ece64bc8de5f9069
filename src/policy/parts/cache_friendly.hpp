#pragma once

#include "policy/parts/miss_intensity.hpp"

#include "queue/cell.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

/// Which subtrees of an iterative program fit a shared cache, and which size of subtree is fastest.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.6: size of
///   involved data (Eq. 4.6), cache-friendly (CF) root tasks, and their tuning from iteration to iteration
///   (Algorithm 6).
///
/// Choices where the book is silent:
///   - Data of exactly the cache's size fit.
///   - A task without children whose data do not fit is a CF root.
///   - The root of the program never fits, and no subtree crosses a border between sockets. So the topmost CF
///     roots are the topmost tasks that do not straddle a border.
///   - The initial set counts as saved before the search. A step that fails restores the saved set.
namespace weft {

/// The tasks of the first iteration by their ids, which are the same in every iteration.
class task_profile {
public:
    static constexpr std::uint64_t line_bytes = 64;

    enum class tier : std::uint8_t {
        above, ///< above every CF root: the task, or a task below it, is divided further
        root,  ///< the root of a CF subtree
        inside ///< in a CF subtree, below its root
    };

    /// Allocates: for policy::attach.
    void attach(std::size_t most_tasks) {
        most_ = most_tasks;
        mask_ = std::bit_ceil(2 * most_tasks) - 1;
        entries_ = std::make_unique<entry[]>(most_);
        index_ = std::make_unique<queue::cell<std::uint32_t>[]>(mask_ + 1);
    }

    std::size_t size() const noexcept { return std::min(used_.load_relaxed(), most_); }

    void clear() noexcept {
        for (std::size_t i = 0; i <= mask_; ++i) index_[i].store_relaxed(0);
        for (std::size_t n = 0; n < size(); ++n) {
            entries_[n].misses.store_relaxed(0);
            entries_[n].instructions.store_relaxed(0);
        }
        used_.store_relaxed(0);
    }

    /// The number of a task, which it gets at the first call; -1 if there is no room or the task has no id. A
    /// parent is inserted before its children, so its number is lower. `parent` is -1 for a child of the
    /// program's root.
    int insert(std::uint64_t id, int parent, bool straddles, std::uint64_t declared_bytes) noexcept {
        if (id == 0) return -1;
        std::size_t n = most_;
        for (std::size_t i = mixed(id) & mask_;; i = (i + 1) & mask_) {
            // acquire: pairs with the exchange below, which publishes the entry
            std::uint32_t found = index_[i].load_acquire();
            if (found == 0) {
                if (n == most_) {
                    if (used_.load_relaxed() >= most_) return -1;
                    n = used_.add(1);
                    if (n >= most_) return -1;
                    entries_[n].id.store_relaxed(id);
                    entries_[n].parent.store_relaxed(parent);
                    entries_[n].straddles = straddles;
                    entries_[n].declared = declared_bytes;
                }
                // acq_rel: publishes the entry; pairs with the loads of the index
                if (index_[i].compare_exchange(found, static_cast<std::uint32_t>(n + 1)))
                    return static_cast<int>(n);
            }
            if (entries_[found - 1].id.load_relaxed() == id) return static_cast<int>(found - 1);
        }
    }

    int find(std::uint64_t id) const noexcept {
        if (id == 0) return -1;
        for (std::size_t i = mixed(id) & mask_;; i = (i + 1) & mask_) {
            const std::uint32_t found = index_[i].load_acquire(); // pairs with the exchange of insert()
            if (found == 0) return -1;
            if (entries_[found - 1].id.load_relaxed() == id) return static_cast<int>(found - 1);
        }
    }

    /// Adds what a task has used itself, without its children. A task that ran in parts adds each part.
    void add(int n, std::uint64_t misses, std::uint64_t instructions) noexcept {
        at(n).misses.add(misses);
        at(n).instructions.add(instructions);
    }

    tier tier_of(int n) const noexcept { return entries_[static_cast<std::size_t>(n)].is.load_relaxed(); }
    double bytes_of(int n) const noexcept { return entries_[static_cast<std::size_t>(n)].bytes; }

    // ---- between iterations, by one worker while no task of the program runs

    /// Eq. 4.6. If no miss was counted, the size of a subtree is the bytes that the program declares for it.
    void sum() noexcept {
        const int count = static_cast<int>(size());
        misses_counted_ = false;
        for (int n = 0; n < count; ++n) {
            at(n).bytes = static_cast<double>(at(n).misses.load_relaxed() * line_bytes);
            misses_counted_ = misses_counted_ || at(n).bytes > 0;
        }
        for (int n = count - 1; n >= 0; --n) {
            if (!misses_counted_ && at(n).declared > 0) at(n).bytes = static_cast<double>(at(n).declared);
            if (const int up = parent(n); up >= 0) at(up).bytes += at(n).bytes;
        }
    }

    /// 4.10.6, to be called after sum(). False if no instructions were counted. If no miss was counted, each
    /// leaf is taken to miss the bytes that it declares.
    bool is_cpu_bound(double misses_per_instruction) noexcept {
        mark_parents();
        std::uint64_t all = 0, cpu_bound = 0;
        for (std::size_t n = 0; n < size(); ++n) {
            const entry& e = entries_[n];
            const bool declares = !misses_counted_ && !e.has_children;
            const std::uint64_t misses = declares ? e.declared / line_bytes : e.misses.load_relaxed();
            const std::uint64_t own = e.instructions.load_relaxed();
            all += own;
            if (weft::is_cpu_bound(misses, own, misses_per_instruction)) cpu_bound += own;
        }
        return computes_mostly(cpu_bound, all);
    }

    /// Chooses the initial CF roots for a cache of that size. To be called after sum().
    void partition(double cache_bytes) noexcept {
        const int count = static_cast<int>(size());
        mark_parents();
        for (int n = 0; n < count; ++n) {
            const int up = parent(n);
            at(n).chosen = (up < 0 || tier_of(up) == tier::above) && !at(n).straddles &&
                           (at(n).bytes <= cache_bytes || !at(n).has_children);
            set_tier(n);
        }
        save();
    }

    /// Replaces every CF root by its children; a root without children stays. False if all stay.
    bool to_children() noexcept {
        const int count = static_cast<int>(size());
        bool changed = false;
        for (int n = count - 1; n >= 0; --n) { // a child is visited before its parent is removed
            const int up = parent(n);
            if (up < 0 || !at(up).chosen) continue;
            at(n).chosen = changed = true;
        }
        for (int n = 0; n < count; ++n)
            if (at(n).has_children && tier_of(n) == tier::root) at(n).chosen = false;
        for (int n = 0; n < count; ++n) set_tier(n);
        return changed;
    }

    /// Replaces every CF root by its parent, unless the parent straddles a border. False if all stay.
    bool to_parents() noexcept {
        const int count = static_cast<int>(size());
        bool changed = false;
        for (int n = count - 1; n >= 0; --n) { // a parent is chosen after its children were visited
            if (!at(n).chosen || tier_of(n) != tier::root) continue;
            const int up = parent(n);
            if (up < 0 || at(up).straddles) continue;
            at(n).chosen = false;
            at(up).chosen = changed = true;
        }
        for (int n = 0; n < count; ++n) { // no task below a chosen one stays chosen
            const int up = parent(n);
            if (up >= 0 && tier_of(up) != tier::above) at(n).chosen = false;
            set_tier(n);
        }
        return changed;
    }

    void save() noexcept {
        for (std::size_t n = 0; n < size(); ++n) entries_[n].saved = entries_[n].chosen;
    }
    void bring_back() noexcept {
        for (int n = 0; n < static_cast<int>(size()); ++n) {
            at(n).chosen = at(n).saved;
            set_tier(n);
        }
    }

private:
    struct entry {
        queue::cell<std::uint64_t> id, misses, instructions;
        std::uint64_t declared = 0;
        double bytes = 0; ///< size of involved data
        queue::cell<std::int32_t> parent{-1};
        queue::cell<tier> is{tier::above};
        bool straddles = false; ///< crosses a border between two sockets; fixed, as `declared` is
        bool has_children = false;
        bool chosen = false, saved = false; ///< as CF root
    };

    static std::size_t mixed(std::uint64_t id) noexcept {
        return static_cast<std::size_t>((id * 0x9e37'79b9'7f4a'7c15U) >> 24U);
    }
    entry& at(int n) noexcept { return entries_[static_cast<std::size_t>(n)]; }
    int parent(int n) const noexcept { return entries_[static_cast<std::size_t>(n)].parent.load_relaxed(); }

    void mark_parents() noexcept {
        const int count = static_cast<int>(size());
        for (int n = 0; n < count; ++n) {
            at(n).has_children = false;
            if (parent(n) >= 0) at(parent(n)).has_children = true;
        }
    }
    /// To be called for the parent first.
    void set_tier(int n) noexcept {
        const int up = parent(n);
        const bool inside = up >= 0 && tier_of(up) != tier::above;
        at(n).is.store_relaxed(inside ? tier::inside : at(n).chosen ? tier::root : tier::above);
    }

    bool misses_counted_ = false;
    std::size_t most_ = 0, mask_ = 0;
    std::unique_ptr<entry[]> entries_;
    std::unique_ptr<queue::cell<std::uint32_t>[]> index_; // entry + 1, open addressing; 0: free
    queue::cell<std::size_t> used_;
};

/// Algorithm 6: all CF subtrees become smaller, step by step, as long as iterations get shorter. If the first
/// step does not help, they become larger instead. Every step costs an iteration.
class packing_search {
public:
    /// The next iteration runs under the initial set.
    void begin(double margin) noexcept {
        margin_ = margin;
        now_ = phase::initial;
        improved_ = false;
    }
    bool over() const noexcept { return now_ == phase::over; }

    /// The iteration with the set of `p` took `took`. Changes the set to the one to try next.
    void measured(task_profile& p, double took) noexcept {
        const bool better = took < best_ * (1 - margin_);
        switch (now_) {
        case phase::over: return;
        case phase::initial:
            best_ = took;
            now_ = phase::smaller;
            break;
        case phase::smaller:
        case phase::larger:
            if (better) {
                best_ = took;
                improved_ = true;
                p.save();
                break;
            }
            p.bring_back();
            if (now_ == phase::larger || improved_) return end();
            now_ = phase::larger;
            break;
        }
        if (now_ == phase::smaller) {
            if (p.to_children()) return;
            if (improved_) return end();
            now_ = phase::larger;
        }
        if (!p.to_parents()) end();
    }

private:
    enum class phase : std::uint8_t { initial, smaller, larger, over };
    void end() noexcept { now_ = phase::over; }

    phase now_ = phase::over;
    bool improved_ = false;
    double margin_ = 0, best_ = 0;
};

} // namespace weft
