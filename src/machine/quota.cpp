#include "machine/quota.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace weft {

namespace {

namespace fs = std::filesystem;

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(separators), text.size());
        if (end > 0) parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

std::string read_text(const fs::path& path) {
    std::ifstream in(path);
    std::ostringstream text;
    if (in) text << in.rdbuf();
    return text.str();
}

std::optional<long long> number(std::string_view text) {
    long long value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

// A quota of "max" (version 2) or -1 (version 1) is no number above 0 and so no limit.
std::optional<double> cores(std::string_view quota_us, std::string_view period_us) {
    const std::optional<long long> quota = number(quota_us);
    const std::optional<long long> period = number(period_us);
    if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
    return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> limit_v2(const fs::path& group) {
    const std::string text = read_text(group / "cpu.max");
    const std::vector<std::string_view> words = split(text, " \t\n");
    if (words.empty()) return std::nullopt;
    return cores(words[0], words.size() > 1 ? words[1] : "100000");
}

std::optional<double> limit_v1(const fs::path& group) {
    const std::string quota = read_text(group / "cpu.cfs_quota_us");
    const std::string period = read_text(group / "cpu.cfs_period_us");
    const std::vector<std::string_view> quota_words = split(quota, " \t\n");
    const std::vector<std::string_view> period_words = split(period, " \t\n");
    if (quota_words.empty() || period_words.empty()) return std::nullopt;
    return cores(quota_words[0], period_words[0]);
}

void lower(std::optional<double>& limit, std::optional<double> other) {
    if (other && (!limit || *other < *limit)) limit = other;
}

// From the mount point down to the group. A group above the root of this process's namespace is written with
// "..", cannot be seen, and is left out.
template <class Limit>
void along(const fs::path& mount, std::string_view group, Limit limit_of, std::optional<double>& limit) {
    fs::path here = mount;
    lower(limit, limit_of(here));
    for (const std::string_view name : split(group, "/")) {
        if (name == "..") continue;
        here /= name;
        lower(limit, limit_of(here));
    }
}

} // namespace

std::optional<double> cpu_quota(const fs::path& cgroup_root, std::string_view proc_self_cgroup) {
    std::optional<double> limit;
    for (const std::string_view line : split(proc_self_cgroup, "\n")) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
        if (second == line.npos) continue;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const std::string_view group = line.substr(second + 1);
        if (controllers.empty()) {
            // Where version 1 is mounted as well, version 2 is found one level down.
            along(cgroup_root, group, limit_v2, limit);
            along(cgroup_root / "unified", group, limit_v2, limit);
            continue;
        }
        const std::vector<std::string_view> names = split(controllers, ",");
        if (std::find(names.begin(), names.end(), "cpu") == names.end()) continue;
        along(cgroup_root / controllers, group, limit_v1, limit);
        if (names.size() > 1) along(cgroup_root / "cpu", group, limit_v1, limit);
    }
    return limit;
}

std::optional<double> cpu_quota() { return cpu_quota("/sys/fs/cgroup", read_text("/proc/self/cgroup")); }

} // namespace weft
