#include "replay/read_script.hpp"

#include "replay/check_records.hpp"
#include "replay/script_writer.hpp"
#include "trace/walk/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace weft::replay {

namespace {

void refuse_missing_costs(std::span<const trace::record> records) {
    const bool has_costs =
        std::ranges::any_of(records, [](const trace::record& r) { return r.what_kind == trace::kind::cost; });
    if (!has_costs)
        throw std::invalid_argument(
            "the times of the tasks are to be those that they declare; given: a trace of a program that "
            "never calls weft::cost; allowed: measured times");
}

/// The most forks of one task that are open at a time. player::play() plays each on top of the one before.
std::size_t deepest_nest(const script& s, const task& t) {
    std::vector<row> open;
    std::size_t deepest = 0;
    for (std::uint32_t i = t.first; i < t.last; ++i) {
        const action& a = s.actions[i];
        if (a.what == act::fork) open.push_back(a.n);
        if (a.what == act::join)
            if (const auto at = std::ranges::find(open.rbegin(), open.rend(), a.n); at != open.rend())
                open.erase(at.base() - 1, open.end());
        deepest = std::max(deepest, open.size());
    }
    return deepest;
}

void refuse_deep_nests(const script& s) {
    for (std::size_t t = 0; t < s.tasks.size(); ++t)
        if (const std::size_t deep = deepest_nest(s, s.tasks[t]); deep > most_nested)
            throw std::invalid_argument(fmt::format(
                "a task cannot be run again, its forks are nested too deeply; given: {} within each "
                "other; allowed: {}",
                deep, most_nested));
}

} // namespace

script read_script(std::span<const trace::record> records, int workers, bool complete, bool is_virtual,
                   const std::unordered_map<std::uint32_t, std::string>& names, times from) {
    check_records(records, names);
    if (from == times::declared) refuse_missing_costs(records);
    std::vector<std::string> by_number(1);
    std::uint32_t cores_name = no_row;
    for (const auto& [number, name] : names) {
        if (by_number.size() <= number) by_number.resize(number + 1);
        by_number[number] = name;
        if (name == "cores") cores_name = number;
    }
    script_writer writer(workers, is_virtual, from, cores_name);
    trace::walk(records, workers, complete, &writer);
    script s = writer.finish();
    s.names = std::move(by_number);
    refuse_deep_nests(s);
    return s;
}

} // namespace weft::replay
