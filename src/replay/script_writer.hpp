#pragma once

#include "replay/action_list.hpp"
#include "replay/read_script.hpp"
#include "replay/script.hpp"
#include "replay/signals.hpp"
#include "trace/walk/walk.hpp"
#include "trace/write/record.hpp"

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weft::replay {

/// Observes the walk over the records, and writes down what each task did.
class script_writer final : public trace::observer {
public:
    /// `cores_name`: the number of the name "cores", or `no_row`.
    script_writer(int workers, bool is_virtual, times from, std::uint32_t cores_name);

    void ran(row t, std::int64_t ns) override;
    void event(const trace::record& r, row top, row about, std::int64_t when) override;

    /// After the walk.
    script finish();

private:
    struct subject { ///< of hints and the like
        bool is_group = false;
        std::uint32_t number = no_row;
    };
    struct mark { ///< of a task
        bool is_machinery = false, is_fork = false, is_root = false;
        std::uint32_t in_run = no_row; ///< of a graph
    };
    struct run { ///< of a graph
        std::uint32_t first, count;
        std::uint32_t left;   ///< tasks that have not ended
        bool is_root = false; ///< a plain thread began it
    };

    row row_of(std::uint32_t number) const;
    mark& mark_of(row);
    bool is_fork(row t) { return t != no_row && mark_of(t).is_fork; }
    subject& subject_of(const trace::record&);
    bool waits_are_apart() const noexcept;

    void say(row t, const action& a) {
        if (t != no_row) actions_.say(t, a);
    }
    void compute(row, std::int64_t ns);

    void spawn(const trace::record&, row top, row t, std::int64_t when);
    void spawn_of_graph(const trace::record&, row top, row t);
    void describe(const trace::record&);
    void begin_group(const trace::record&);
    void begin_graph(const trace::record&, row top, std::int64_t when);
    void begin(const trace::record&, row top, row t);
    void end(row t, std::int64_t when);
    void wait(const trace::record&, row top);
    void waited(const trace::record&, row top);
    void suspend(const trace::record&, row top, row t, std::int64_t when);
    void ready(const trace::record&, row top, row t, std::int64_t when);

    void add_root(batch::root);
    std::uint32_t group_at(std::uint64_t address);

    const times from_;
    const bool is_virtual_;
    const std::uint32_t cores_name_;
    script out_;
    action_list actions_;
    signals signals_{actions_};
    std::vector<mark> marks_; ///< by row
    std::unordered_map<std::uint32_t, row> rows_;
    std::vector<subject> subjects_; ///< by stream, the last one `outside`: what the next hints describe
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  ///< numbers: a task, the task that waits
    std::unordered_map<std::uint64_t, std::uint32_t> groups_;     ///< by address, while it is open
    std::vector<run> runs_;                                       ///< beside script::graphs
    std::unordered_map<std::uint32_t, std::uint32_t> run_of_;     ///< by the number of the first task
    std::unordered_map<row, std::vector<std::uint32_t>> started_; ///< by task: runs without a wait yet
    /// Tasks in the wait of a group, also of a future's or a graph's: the wait says all of their suspension.
    std::unordered_set<row> at_groups_;
    int open_roots_ = 0;
    std::int64_t last_ = 0;
};

} // namespace weft::replay
