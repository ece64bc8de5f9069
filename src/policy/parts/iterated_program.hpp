#pragma once

#include "policy/parts/cache_friendly.hpp"

#include "queue/cell.hpp"
#include "task/task.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

/// How far the one iterated program of a runtime has come: profiled, packed, tuned, or found to be CPU-bound.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.6 and
///   4.10.6. The steps themselves: cache_friendly.hpp.
///
/// One root at a time claims it. Only that root's worker calls the functions from claim() to end_iteration(),
/// while no other task of the program runs. Any worker may call the others.
///
/// Not here: where tasks go (data_allocator.hpp) and which workers take them (triple_level_stealing.hpp).
namespace weft {

class iterated_program {
public:
    enum class phase : std::uint8_t {
        plain,   ///< CPU-bound: stolen at random
        spread,  ///< allocated to sockets, not packed
        sized,   ///< packed without iterations; only for a root that `starts`
        profile, ///< the first iteration
        packed
    };
    struct settings {
        bool packs = true, tunes = true;
        double margin = 0, cache_bytes = 0, misses_per_instruction = 0;
        double input_bytes = 0; ///< of a program without iterations, which is packed by it; 0: not packed
        std::size_t profiled = 0;
    };

    /// Allocates: for policy::attach.
    void attach(const settings& s) {
        set_ = s;
        if (set_.packs) profile_.attach(set_.profiled);
    }

    // ---- any worker

    bool is_owned() const noexcept { return owned_.load_relaxed(); }
    /// The phase of a root that `starts`, or else of the iterated program.
    phase phase_of(bool starts) const noexcept {
        if (!starts) return phase_.load_relaxed();
        return packs_by_size() ? phase::sized : phase::spread;
    }
    /// Whether a socket may take spread tasks of another socket, one by one: not while data are written
    /// first, which is the first iteration, or before the program is iterated (4.7).
    bool may_cross() const noexcept { return owned_.load_relaxed() && crosses_.load_relaxed(); }
    /// Some root is iterated, or starts a program that will be.
    bool allocates() const noexcept { return allocating_.load_relaxed() > 0; }
    /// Changes the number of roots that allocate, and returns the new number.
    int count(int change) noexcept { return allocating_.add(change) + change; }

    /// Eq. 3.5, for roots without iterations: S_input is known, and the data of a task are its part of it.
    bool packs_by_size() const noexcept { return set_.input_bytes > 0; }
    bool fits(double part) const noexcept {
        constexpr double rounding = 1e-9; // of thirds, and the like
        return part * set_.input_bytes <= set_.cache_bytes * (1 + rounding);
    }

    task_profile& profile() noexcept { return profile_; }
    /// For a packed iteration. A task that the profile lacks is the root of a subtree if it does not
    /// straddle a border.
    bool is_root_of_subtree(const task& child, bool straddles) noexcept {
        const int entry = profile_.find(child.id());
        (entry < 0 ? strangers_ : known_).add(1);
        return entry < 0 ? !straddles : profile_.tier_of(entry) != task_profile::tier::above;
    }

    // ---- the root that owns it

    /// False if another root has claimed it.
    bool claim() noexcept {
        bool owned = false;
        return owned_.compare_exchange(owned, true); // pairs with release()
    }
    void release() noexcept { owned_.store_release(false); } // pairs with claim()
    void begin(time_ns now) noexcept {
        iterations_ = 0;
        began_ = now;
        crosses_.store_relaxed(false);
        reset_counts();
        if (set_.packs) profile_.clear();
    }
    int iterations() const noexcept { return iterations_; }
    void begin_iteration(time_ns now) noexcept { began_ = now; }

    /// False if the program is found to be CPU-bound: it is plain from then on.
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
        packed_before_ = false;
        phase_.store_relaxed(phase::packed);
        return true;
    }

    void end_packed_iteration(double took) noexcept {
        if (strangers_.load_relaxed() > known_.load_relaxed()) {
            phase_.store_relaxed(phase::spread);
            crosses_.store_relaxed(true);
        } else if (set_.tunes && std::exchange(packed_before_, true)) {
            search_.measured(profile_, took);
        }
        reset_counts();
    }

    void reset_counts() noexcept {
        strangers_.store_relaxed(0);
        known_.store_relaxed(0);
    }

    settings set_;
    queue::cell<bool> owned_;     // a root is iterated
    queue::cell<int> allocating_; // roots that are iterated, or start a program that will be
    queue::cell<phase> phase_{phase::plain};
    queue::cell<bool> crosses_;
    queue::cell<std::size_t> strangers_, known_; // tasks of this iteration: not in the profile, in it
    task_profile profile_;
    packing_search search_;      // used by the owning root's worker alone, as the members below
    bool packed_before_ = false; // a packed iteration has passed
    int iterations_ = 0;
    time_ns began_ = 0;
};

} // namespace weft
