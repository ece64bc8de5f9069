#include "api/lending_options.hpp"

#include "api/interval.hpp"
#include "machine/neighbours.hpp"
#include "share/lending_board.hpp"

#include <weft/error.hpp>

#include <chrono>
#include <string>

namespace weft::api {

namespace {

constexpr std::chrono::nanoseconds shortest_tick = std::chrono::microseconds(100),
                                   longest_tick = std::chrono::milliseconds(100);
constexpr char form[] = "off, or on[:directory=/PATH,reach=domain,tick=1ms]";

struct asked {
    engine::lending_options options;
    bool whole_machine = false;
};

void set(asked& a, std::string_view key, std::string_view value, std::string_view given) {
    const auto refuse = [&](std::string_view what, std::string_view allowed) -> void {
        throw error(std::string(what), std::string(given), std::string(allowed));
    };
    if (key == "directory") {
        if (!value.starts_with('/'))
            return refuse("the directory of programs that lend cores is no whole path", "a path from /");
        a.options.directory = value;
    } else if (key == "reach") {
        if (value != "domain" && value != "machine")
            return refuse("unknown reach of borrowing", "domain (the last-level cache), machine");
        a.whole_machine = value == "machine";
    } else if (key == "tick") {
        const auto t = parse_interval(value);
        if (!t || *t < shortest_tick || *t > longest_tick)
            return refuse("the tick of lending is out of range", "100us to 100ms, with us or ms");
        a.options.tick = *t;
    } else {
        refuse("unknown option of lending", "directory, reach, tick");
    }
}

} // namespace

engine::lending_options parse_lending(std::string_view text, std::string_view given, const machine& own) {
    asked a;
    const auto colon = text.find(':');
    const std::string_view first = text.substr(0, colon);
    if (text == "off") return {};
    if (first != "on") throw error("unknown way to lend cores", std::string(given), form);
    if (colon != std::string_view::npos) {
        std::string_view rest = text.substr(colon + 1);
        do {
            const auto comma = rest.find(',');
            const std::string_view one = rest.substr(0, comma);
            const auto equals = one.find('=');
            if (equals == std::string_view::npos)
                throw error("an option of lending has no value", std::string(given), form);
            set(a, one.substr(0, equals), one.substr(equals + 1), given);
            rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
        } while (!rest.empty());
    }
    if (share::lending_board::is_joined()) return {};
    if (a.options.directory.empty()) a.options.directory = share::lending_board::usual_directory();
    std::vector<int> cpus;
    for (int rank = 0; rank < own.size(); ++rank) cpus.push_back(own.core_at(rank).os_index);
    a.options.reach = neighbours_of(cpus, a.whole_machine);
    std::erase_if(a.options.reach, [](int cpu) { return cpu >= share::most_cpus; });
    return a.options;
}

} // namespace weft::api
