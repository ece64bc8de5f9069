#pragma once

#include "queue/cell.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

/// The time that tasks and groups took when they ran last: for policies that divide by work where the program
/// gives no hints. It is not the profile of a run in a file, which is sharing_profile.hpp.
///
/// A task is known by its path: the names of its groups and its index in each of them, from the root. So
/// groups that one task opens one after another are the same place if they have the same name, as in a loop
/// over time steps. What is measured at a place is added to all places around it, so that a place holds the
/// work of its whole subtree.
///
/// Two roots that run at the same time share their places, and a full table learns nothing more. Both cost
/// accuracy only.
namespace weft {

class learned_work {
public:
    using place = std::uint32_t; ///< 0: none
    static constexpr std::size_t size = 8192;
    static constexpr place root = 1;

    /// Allocates: for policy::attach.
    void attach() {
        places_ = std::make_unique<entry[]>(size);
        at(root).key.store_relaxed(root);
    }
    bool is_on() const noexcept { return places_ != nullptr; }

    /// The place of the index-th child below `around`; with index -1, that of a group. 0 if the table is
    /// full.
    place below(place around, std::string_view name, int index) noexcept {
        if (around == 0) return 0;
        std::uint64_t key =
            at(around).key.load_relaxed() + 0x9e3779b97f4a7c15U * (static_cast<std::uint64_t>(index) + 2);
        for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        key = (key ^ (key >> 29U)) * 0xbf58476d1ce4e5b9U;
        key = (key ^ (key >> 32U)) | 2U; // neither 0 nor the root's
        for (std::size_t i = 0; i < most_steps; ++i) {
            const auto p = static_cast<place>((key + i) % size);
            if (p == 0 || p == root) continue;
            std::uint64_t found = 0;
            if (at(p).key.compare_exchange(found, key))
                at(p).around.store_release(around); // pairs with add()
            if (found == 0 || found == key) return p;
        }
        return 0;
    }

    /// The place is entered again. Returns the nanoseconds that it took the last time, 0 if that is not
    /// known.
    double begin(place p) noexcept {
        if (p == 0) return 0;
        const std::int64_t took = at(p).now.exchange(0);
        if (took > 0) at(p).last.store_relaxed(took);
        return static_cast<double>(at(p).last.load_relaxed());
    }

    /// Time was spent at `p`. Any worker.
    void add(place p, std::int64_t ns) noexcept {
        for (; p != 0; p = at(p).around.load_acquire()) at(p).now.add(ns); // pairs with below()
    }

private:
    static constexpr std::size_t most_steps = 32;

    struct entry {
        queue::cell<std::uint64_t> key; // 0: free
        queue::cell<place> around;
        queue::cell<std::int64_t> now, last; // ns, with everything below
    };
    entry& at(place p) noexcept { return places_[p]; }

    std::unique_ptr<entry[]> places_;
};

} // namespace weft
