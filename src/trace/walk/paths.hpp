#pragma once

#include "trace/walk/tables.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::trace {

/// A path through forks, joins, groups and edges of graphs.
struct path {
    std::int64_t length = 0;
    std::uint32_t last = no_row; ///< its last step, an index kept by `paths`; no_row: it is empty
};

inline const path& longer(const path& a, const path& b) { return a.length < b.length ? b : a; }

/// The longest path to where each task has come, or to its end.
class paths {
public:
    void resize(std::size_t rows) { of_.resize(rows); }
    const path& of(row t) const { return of_[t]; }

    /// `t` begins where its parent has come; `parent` may be `no_row`.
    void spawn(row t, row parent) { of_[t] = parent != no_row ? enter(t, of_[parent]) : path{}; }
    void run(row t, std::int64_t ns);
    /// What `t` does from now on comes after `before`, too.
    void follow(row t, const path& before) {
        if (of_[t].length < before.length) of_[t] = enter(t, before);
    }

    path longest() const;
    critical_path steps_of(const path&) const;

private:
    struct step { ///< a stretch of a path in one task
        row task;
        std::uint32_t before;
        std::int64_t begin; ///< the length of what comes before
    };

    path enter(row t, const path& from);

    std::vector<path> of_; ///< by row
    std::vector<step> steps_;
};

} // namespace weft::trace
