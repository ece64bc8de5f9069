#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace weft {

// The limit that the control groups set on the processor time of this process, in cores; empty where there is
// none. It is the smallest of the limits of the process's group and of all groups above it, in version 2
// (cpu.max) and version 1 (cpu.cfs_quota_us, cpu.cfs_period_us) alike. A file that is missing or makes no
// sense sets no limit: inside a container the groups above are often not visible.
std::optional<double> cpu_quota();

// The same with other places to look: what is mounted at /sys/fs/cgroup, and the text of /proc/self/cgroup.
std::optional<double> cpu_quota(const std::filesystem::path& cgroup_root, std::string_view proc_self_cgroup);

} // namespace weft
