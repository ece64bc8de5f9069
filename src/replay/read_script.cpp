#include "replay/read_script.hpp"

#include "replay/script_writer.hpp"
#include "trace/walk/walk.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

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

} // namespace

script read_script(std::span<const trace::record> records, int workers, bool complete, bool is_virtual,
                   const std::unordered_map<std::uint32_t, std::string>& names, times from) {
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
    return s;
}

} // namespace weft::replay
