#include "engine/observe/choices_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>
#include <utility>

namespace weft::engine {

nlohmann::ordered_json choices_json(const policy_choices& c) {
    auto places = nlohmann::ordered_json::array();
    for (const policy_choices::choice& p : c.places)
        places.push_back({{"place", p.place},
                          {"policy", p.chosen},
                          {"state", p.state},
                          {"why", p.why},
                          {"runs", p.runs},
                          {"comparisons", p.compared}});
    return {{"places", std::move(places)}, {"memory", c.memory}};
}

std::string choices_table(const policy_choices& c) {
    std::string text;
    const auto to_text = std::back_inserter(text);
    for (const policy_choices::choice& p : c.places)
        fmt::format_to(to_text, "chosen    {} for {}: {}; {} runs, {} comparisons\n          {}\n", p.chosen,
                       p.place, p.state, p.runs, p.compared, p.why);
    if (!c.memory.empty()) fmt::format_to(to_text, "memory    {}\n", c.memory);
    return text;
}

} // namespace weft::engine
