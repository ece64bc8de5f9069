#pragma once

#include "trace/profile/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::trace {

/// What the tasks of one construct have of a path. A piece is a stretch of a task without a fork, a spawn or a wait.
struct path_share {
    std::uint32_t construct = 0;
    std::uint64_t pieces = 0;
    std::int64_t time = 0, longest = 0; ///< of all pieces, of the longest one

    void add(const path_share& more) noexcept {
        pieces += more.pieces;
        time += more.time;
        longest = std::max(longest, more.longest);
    }
};

/// The longest path to some point of a program, and what it consists of.
struct burdened_path {
    lengths length{};
    std::uint32_t last = 0; ///< its last step, kept by `burdened_paths`; 0: it has none
    path_share tail{};      ///< what comes behind that step, all of one construct

    bool is_empty() const noexcept { return last == 0 && tail.pieces == 0; }
};

/// What paths consist of. Paths that have a beginning in common share the steps of it: a step has what lies between two points
/// at which paths part. When all paths but one are gone, the steps of that one become one. So there are at most about as many
/// steps as tasks that have not ended.
class burdened_paths {
public:
    burdened_paths() { steps_.emplace_back(); }

    /// Another path that begins with all of `of`.
    burdened_path part(burdened_path& of) {
        if (of.tail.pieces > 0) store_tail(of);
        if (of.last) ++steps_[of.last].paths;
        return of;
    }
    void drop(burdened_path& of) noexcept { leave(std::exchange(of.last, 0)); }
    /// The path goes on with a piece of this construct.
    void extend(burdened_path& of, std::uint32_t construct, std::int64_t time) {
        if (of.tail.construct != construct && of.tail.pieces > 0) store_tail(of);
        of.tail.construct = construct;
        of.tail.add({construct, 1, time, time});
        of.length.add(time);
    }

    /// Likewise, with several pieces that were not told apart, whose lengths are given.
    void extend(burdened_path& of, std::uint32_t construct, const lengths& more) {
        if (of.tail.construct != construct && of.tail.pieces > 0) store_tail(of);
        of.tail.construct = construct;
        of.tail.add({construct, 1, more.plain(), 0});
        of.length.add(more);
    }

    /// `of` goes on when `other` has come to its end, too.
    void follow(burdened_path& of, const burdened_path& other) {
        take_longer(of, other);
        of.length = both(of.length, other.length);
    }
    /// Likewise, and the tasks of `other` could run on another worker: see side_by_side().
    void join(burdened_path& of, const burdened_path& other, const lengths& serial, const lengths& burden) {
        take_longer(of, other);
        of.length = side_by_side(of.length, other.length, serial, burden);
    }

    /// In the order in which the constructs appear first on the path.
    std::vector<path_share> shares_of(const burdened_path&) const;
    std::size_t size() const noexcept { return steps_.size() - 1 - free_.size(); }

private:
    struct step {
        std::uint32_t before = 0;
        std::uint32_t paths = 0; ///< that go through it: paths that end here, and steps behind it
        std::vector<path_share> shares{};
    };

    void take_longer(burdened_path& of, const burdened_path& other) {
        if (of.length.plain() >= other.length.plain()) return;
        if (other.last) ++steps_[other.last].paths;
        leave(std::exchange(of.last, other.last));
        of.tail = other.tail;
    }
    void store_tail(burdened_path& of);
    std::uint32_t add(std::uint32_t before);
    void leave(std::uint32_t s) noexcept {
        while (s && --steps_[s].paths == 0) {
            steps_[s].shares.clear();
            free_.push_back(s);
            s = steps_[s].before;
        }
    }
    /// `last` goes through no other path than that which ends there: takes over the steps of which this is true, too.
    void unite(std::uint32_t last);

    std::vector<step> steps_; ///< [0] is none
    std::vector<std::uint32_t> free_;
};

} // namespace weft::trace
