#include "api/speed_options.hpp"

#include "machine/speeds.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

namespace weft::api {

namespace {

constexpr std::size_t most_speeds = 1024;

} // namespace

std::vector<double> parse_speeds(std::string_view text, std::string_view given, const machine& m) {
    std::vector<double> speeds;
    if (text == speeds_of_machine) {
        for (int core = 0; core < m.size(); ++core) speeds.push_back(m.speed_of(core));
        const double fastest = std::ranges::max(speeds);
        for (double& s : speeds) s = std::max(s / fastest, least_speed);
        return speeds;
    }
    const auto refuse = [&] {
        throw error("the speeds of the workers make no sense", std::string(given),
                    fmt::format("1 to {} numbers from {} to 1 with commas between them, as 1,1,0.32,0.32; or "
                                "machine, the speeds of its cores",
                                most_speeds, least_speed));
    };
    for (std::string_view rest = text;;) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        double s = 0;
        const auto [end, bad] = std::from_chars(rest.data(), rest.data() + comma, s);
        if (bad != std::errc{} || end != rest.data() + comma || !(s >= least_speed && s <= 1)) refuse();
        speeds.push_back(s);
        if (comma == rest.size()) break;
        rest.remove_prefix(comma + 1);
    }
    if (speeds.size() > most_speeds) refuse();
    return speeds;
}

} // namespace weft::api
