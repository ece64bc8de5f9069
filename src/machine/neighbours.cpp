#include "machine/neighbours.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace weft {

namespace {

constexpr char of_cpus[] = "/sys/devices/system/cpu";

std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::optional<int> cpu_number(std::string_view text) {
    int n = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
    return bad == std::errc{} && end == text.data() + text.size() && n >= 0 ? std::optional(n) : std::nullopt;
}

/// A list of the kernel, such as 0-3,8. What is no list has no member.
std::set<int> list_of(std::string_view text) {
    constexpr int most = 1 << 16;
    std::set<int> all;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const std::string_view one = text.substr(0, comma);
        const auto dash = one.find('-');
        const auto first = cpu_number(one.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : cpu_number(one.substr(dash + 1));
        if (!first || !last || *last > most) return {};
        for (int i = *first; i <= *last; ++i) all.insert(i);
        text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    }
    return all;
}

std::set<int> around(int cpu) {
    std::set<int> widest;
    int level = 0;
    constexpr int most_caches = 16;
    for (int i = 0; i < most_caches; ++i) {
        const std::string cache = fmt::format("{}/cpu{}/cache/index{}", of_cpus, cpu, i);
        const auto l = cpu_number(line_of(cache + "/level"));
        if (!l) break;
        if (*l < level) continue;
        level = *l;
        widest = list_of(line_of(cache + "/shared_cpu_list"));
    }
    if (widest.empty())
        widest = list_of(line_of(fmt::format("{}/cpu{}/topology/package_cpus_list", of_cpus, cpu)));
    return widest;
}

} // namespace

std::vector<int> neighbours_of(const std::vector<int>& cpus, bool whole_machine) {
    const std::set<int> online = list_of(line_of(std::string(of_cpus) + "/online"));
    std::set<int> all;
    if (whole_machine) all = online;
    for (const int cpu : cpus)
        if (!whole_machine) all.merge(around(cpu));
    std::vector<int> others;
    for (const int cpu : all)
        if (online.contains(cpu) && std::ranges::find(cpus, cpu) == cpus.end()) others.push_back(cpu);
    return others;
}

} // namespace weft
