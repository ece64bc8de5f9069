#include "machine/machine_files.hpp"

#include "machine/nearest_name.hpp"

#include <weft/error.hpp>
#include <weft/impl/installed_data.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <sys/auxv.h>

namespace weft {

namespace fs = std::filesystem;

namespace {

bool is_folder(const fs::path& path) {
    std::error_code failure;
    return fs::is_directory(path, failure);
}

// The file that contains this code: the shared library, the Python module, or the program.
fs::path own_file() {
    std::error_code failure;
    Dl_info self{};
    Dl_info program{};
    const auto* const headers = reinterpret_cast<const void*>(getauxval(AT_PHDR));
    // The name of the program itself is what it was started as, which may be no path.
    if (dladdr(reinterpret_cast<const void*>(&own_file), &self) != 0 && dladdr(headers, &program) != 0 &&
        self.dli_fbase != program.dli_fbase)
        return fs::canonical(self.dli_fname, failure);
    return fs::read_symlink("/proc/self/exe", failure);
}

// The third entry of the list in the header.
fs::path directory_above(const fs::path& file) {
    std::error_code failure;
    for (fs::path at = file.parent_path(); !at.empty(); at = at.parent_path()) {
        if (const fs::path installed = at / "share/weft/machines"; is_folder(installed)) return installed;
        if (fs::exists(at / "include/weft/weft.hpp", failure) &&
            fs::exists(at / "machines/README.md", failure))
            return at / "machines";
        if (at == at.root_path()) break;
    }
    return {};
}

std::vector<machine_file> files_in(const fs::path& directory) {
    std::vector<machine_file> files;
    std::error_code failure;
    for (fs::directory_iterator at(directory, failure), end; !failure && at != end; at.increment(failure)) {
        const fs::path& path = at->path();
        if (path.extension() == ".toml" || path.extension() == ".xml")
            files.push_back({path.stem().string(), path});
    }
    std::ranges::sort(files, {}, [](const machine_file& f) { return std::pair(f.name, f.path); });
    return files;
}

} // namespace

bool is_machine_path(std::string_view spec) {
    return spec.find('/') != spec.npos || spec.ends_with(".toml") || spec.ends_with(".xml");
}

bool is_machine_name(std::string_view spec) {
    const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
    const auto fits = [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
    };
    return !spec.empty() && std::ranges::all_of(spec, fits) && !std::ranges::all_of(spec, digit) &&
           !is_machine_path(spec);
}

std::vector<fs::path> machine_directories() {
    std::vector<fs::path> all;
    const auto add = [&](const fs::path& directory) {
        std::error_code failure;
        if (directory.empty() || !is_folder(directory)) return;
        const fs::path whole = fs::canonical(directory, failure);
        if (!failure && std::ranges::find(all, whole) == all.end()) all.push_back(whole);
    };
    const char* const variable = std::getenv(machines_variable);
    for (std::string_view rest = variable != nullptr ? variable : ""; !rest.empty();) {
        const std::size_t colon = rest.find(':');
        add(rest.substr(0, colon));
        rest = colon == rest.npos ? std::string_view{} : rest.substr(colon + 1);
    }
    if (const char* const data = impl::installed_data_directory()) add(fs::path(data) / "machines");
    add(directory_above(own_file()));
    return all;
}

std::vector<machine_file> machine_files() {
    std::map<std::string, machine_file> by_name;
    for (const fs::path& directory : machine_directories())
        for (machine_file& f : files_in(directory)) by_name.try_emplace(f.name, std::move(f));
    std::vector<machine_file> all;
    for (auto& [name, file] : by_name) all.push_back(std::move(file));
    return all;
}

fs::path find_machine_file(std::string_view name) {
    const std::vector<machine_file> files = machine_files();
    std::vector<std::string_view> names;
    for (const machine_file& f : files) {
        if (f.name == name) return f.path;
        names.push_back(f.name);
    }
    const std::string_view nearest = nearest_name(name, names);
    std::vector<std::string> places;
    for (const fs::path& directory : machine_directories()) places.push_back(directory.string());
    throw error(nearest.empty() ? std::string("unknown machine")
                                : fmt::format("unknown machine, did you mean '{}'?", nearest),
                fmt::format("'{}'", name),
                fmt::format("{}{}; or a path to a file (./{}.toml), an hwloc synthetic string such as "
                            "'pack:2 [numa] l3:2 core:4 pu:2', or 'this'",
                            names.empty() ? "a name of a file in a directory of WEFT_MACHINES"
                                          : fmt::format("{}", fmt::join(names, ", ")),
                            places.empty() ? "" : fmt::format(" (found in {})", fmt::join(places, ", ")),
                            name));
}

} // namespace weft
