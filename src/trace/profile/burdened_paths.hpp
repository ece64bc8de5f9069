#pragma once

#include "trace/profile/lengths.hpp"

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
};

/// The longest path to some point of a program, and what it consists of.
struct burdened_path {
    lengths length{};
    std::uint32_t last = 0; ///< its last step, kept by `burdened_paths`; 0: it is empty
};

/// What paths consist of. Paths that have a beginning in common share the steps of it: a step has what lies between two points
/// at which paths part. When all paths but one are gone, the steps of that one become one. So there are at most about as many
/// steps as tasks that have not ended.
class burdened_paths {
public:
    burdened_paths() { steps_.emplace_back(); }

    burdened_path copy(const burdened_path& of) noexcept {
        if (of.last) ++steps_[of.last].paths;
        return of;
    }
    void drop(burdened_path& of) noexcept { leave(std::exchange(of.last, 0)); }
    /// The path goes on with a piece of this construct.
    void extend(burdened_path& of, std::uint32_t construct, std::int64_t time);

    /// `of` goes on when `other` has come to its end, too.
    void follow(burdened_path& of, const burdened_path& other);
    /// Likewise, and the tasks of `other` could run on another worker: see side_by_side().
    void join(burdened_path& of, const burdened_path& other, const lengths& serial, const lengths& burden);

    /// In the order in which the constructs appear first on the path.
    std::vector<path_share> shares_of(const burdened_path&) const;
    std::size_t size() const noexcept { return steps_.size() - 1 - free_.size(); }

private:
    struct step {
        std::uint32_t before = 0;
        std::uint32_t paths = 0; ///< that go through it: paths that end here, and steps behind it
        std::vector<path_share> shares{};
    };

    void take_longer(burdened_path& of, const burdened_path& other);
    std::uint32_t add(std::uint32_t before);
    void leave(std::uint32_t step) noexcept;
    /// `last` goes through no other path than that which ends there: takes over the steps of which this is true, too.
    void unite(std::uint32_t last);

    std::vector<step> steps_; ///< [0] is none
    std::vector<std::uint32_t> free_;
};

} // namespace weft::trace
