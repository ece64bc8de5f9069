#pragma once

#include "engine/threads/report.hpp"

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace weft::engine {

/// What a report says of the workers' times, as JSON and as lines of a table.

double in_seconds(time_ns) noexcept;
std::string percent_of(time_ns whole, time_ns part);

/// The part of the time at work in which the worker had its core. Only with emulated speeds, of a worker that has worked.
double had_share(const tally::worker&) noexcept;

/// Whether the busy time is divided, and if it is not, why.
std::string_view divided(const thread_report&) noexcept;

/// Seconds of one worker, or the sums over all of them. `parts`: of the busy time; null if it is not divided.
nlohmann::ordered_json times_of(const tally::worker&, time_ns whole, const busy_parts* parts);
/// The sums over all workers, and an array with the times and counts of each.
void put_workers(nlohmann::ordered_json& to, const thread_report&);

/// Lines on the busy time of all workers together; nothing if a reader need not know why it is not divided.
std::string busy_line(const thread_report&);
/// A table with a row a worker, as shares of the run. `span` and `outside`: as shares of that time, with a column for the
/// part of it that was outside of runs.
struct span_of_runs {
    time_ns span = 0, outside = 0;
};
std::string worker_table(const thread_report&, std::optional<span_of_runs> = {});

} // namespace weft::engine
