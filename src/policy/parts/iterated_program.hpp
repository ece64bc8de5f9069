#pragma once

#include "policy/parts/cache_friendly.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cell.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

/// How far the one iterated program of a runtime has come: profiled, packed, tuned, or found to be CPU-bound.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.6 and
///   4.10.6. The steps themselves: cache_friendly.hpp.
///
/// Claimed by one root at a time. That root's worker alone calls claim() to release() and end_iteration(),
/// while no other task of the program runs; any worker calls the rest.
///
/// Not here: where tasks go (data_allocator.hpp) and who takes them (triple_level_stealing.hpp).
namespace weft {

class iterated_program {
public:
    enum class phase : std::uint8_t {
        plain,   ///< CPU-bound: stolen at random
        spread,  ///< allocated, not packed
        sized,   ///< packed without iterations: of a root that `starts` only
        profile, ///< the first iteration
        packed
    };
    struct settings {
        bool packs = true, tunes = true;
        double margin = 0, cache_bytes = 0, misses_per_instruction = 0;
        double input_bytes = 0; ///< of a program without iterations, which is packed by it; 0: it is not
        std::size_t profiled = 0;
    };

    /// Allocates: for policy::attach.
    void attach(const settings& s) {
        set_ = s;
        if (set_.packs) profile_.attach(set_.profiled);
    }

    // ---- any worker

    bool is_owned() const noexcept { return owned_.load_relaxed(); }
    /// Of a root that `starts`, or of the iterated one.
    phase phase_of(bool starts) const noexcept {
        if (!starts) return phase_.load_relaxed();
        return packs_by_size() ? phase::sized : phase::spread;
    }
    /// Other sockets may take spread tasks one by one, once these have begun with their own part.
    bool may_cross() const noexcept {
        return owned_.load_relaxed() ? crosses_.load_relaxed() : !packs_by_size();
    }
    /// Some root is iterated, or starts what will be.
    bool allocates() const noexcept { return allocating_.load_relaxed() > 0; }
    /// The number of roots that allocate changes; returns the new one.
    int count(int change) noexcept { return allocating_.add(change) + change; }

    /// Eq. 3.5, for roots without iterations: S_input is known, and what a task involves is its part of it.
    bool packs_by_size() const noexcept { return set_.input_bytes > 0; }
    bool fits(double part) const noexcept {
        constexpr double rounding = 1e-9; // of thirds, and the like
        return part * set_.input_bytes <= set_.cache_bytes * (1 + rounding);
    }

    task_profile& profile() noexcept { return profile_; }
    /// In a packed iteration. A task that the first iteration did not have is one if it does not straddle.
    bool is_root_of_subtree(const task& child, bool straddles) noexcept {
        const int entry = profile_.find(child.id());
        (entry < 0 ? strangers_ : known_).add(1);
        return entry < 0 ? !straddles : profile_.tier_of(entry) != task_profile::tier::above;
    }

    // ---- the root that owns it

    /// False if another root has it.
    bool claim() noexcept {
        bool owned = false;
        return owned_.compare_exchange(owned, true); // pairs with release()
    }
    void release() noexcept { owned_.store_release(false); } // pairs with claim()
    void begin(time_ns now) noexcept {
        iterations_ = 0;
        began_ = now;
        crosses_.store_relaxed(false);
        if (set_.packs) profile_.clear();
    }
    int iterations() const noexcept { return iterations_; }
    void begin_iteration(time_ns now) noexcept { began_ = now; }

    /// False if the program has turned out to be CPU-bound: it is plain from here on.
    bool end_iteration(time_ns now) noexcept {
        const double took = static_cast<double>(now - began_);
        ++iterations_;
        if (!set_.packs) {
            phase_.store_relaxed(phase::spread);
            crosses_.store_relaxed(iterations_ > 1);
        } else if (iterations_ == 1) {
            phase_.store_relaxed(phase::profile);
        } else if (iterations_ == 2) {
            return pack();
        } else if (phase_.load_relaxed() == phase::packed) {
            end_packed_iteration(took);
        }
        return true;
    }

private:
    bool pack() noexcept {
        profile_.sum();
        if (profile_.is_cpu_bound(set_.misses_per_instruction)) {
            phase_.store_relaxed(phase::plain);
            return false;
        }
        profile_.partition(set_.cache_bytes);
        search_.begin(set_.margin);
        settled_ = false;
        phase_.store_relaxed(phase::packed);
        return true;
    }

    void end_packed_iteration(double took) noexcept {
        if (strangers_.load_relaxed() > known_.load_relaxed()) {
            phase_.store_relaxed(phase::spread);
            crosses_.store_relaxed(true);
        } else if (set_.tunes && std::exchange(settled_, true)) {
            search_.measured(profile_, took);
        }
        strangers_.store_relaxed(0);
        known_.store_relaxed(0);
    }

    settings set_;
    queue::cell<bool> owned_;     // a root is iterated
    queue::cell<int> allocating_; // roots that are iterated, or start what will be
    queue::cell<phase> phase_{phase::plain};
    queue::cell<bool> crosses_;
    queue::cell<std::size_t> strangers_, known_; // tasks of this iteration that the profile lacks, or has
    task_profile profile_;
    packing_search search_; // the owning root's worker alone, as what follows
    bool settled_ = false;  // a packed iteration has passed
    int iterations_ = 0;
    time_ns began_ = 0;
};

} // namespace weft
