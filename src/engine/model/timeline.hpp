#pragma once

#include "engine/model/activity.hpp"

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace weft::engine {

/// Writes what each worker did at each time, while it happens, as JSON in the trace event format of Chrome:
/// an array of complete events ("ph": "X"; "ts" and "dur" in microseconds; "tid" the worker; "name" the
/// activity; "args": the task's id and level). scripts/gantt draws it; Perfetto shows it.
class timeline {
public:
    /// Throws weft::error if the file cannot be written.
    explicit timeline(std::string file);
    ~timeline(); ///< completes the file; says so on standard error if it could not be written
    timeline(const timeline&) = delete;
    timeline& operator=(const timeline&) = delete;

    struct of_task {
        std::uint64_t id = 0; ///< 0: unknown
        int level = 0;
        std::string_view name{};
    };

    void begin(std::string_view machine, std::string_view policy, int workers);
    void add(int worker, activity, time_ns began, time_ns ended, const of_task*);

private:
    void separate();

    std::string file_;
    std::ofstream out_;
    bool first_ = true;
};

} // namespace weft::engine
