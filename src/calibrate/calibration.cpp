#include "calibrate/calibration.hpp"

#include "machine/toml_section.hpp"
#include "machine/write_toml.hpp"

#include <weft/error.hpp>

#include <array>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace weft {

namespace fs = std::filesystem;

namespace {

/// Of what is measured and how. A file of an older one is measured again.
constexpr int version = 2;

std::string day_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    localtime_r(&now, &parts);
    return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

std::string to_text(const calibration& c) {
    std::string text =
        fmt::format("# What Weft measured on this machine, for models of it. `weft machines "
                    "this --measure` does it again.\n"
                    "version = {}\nday = {}\nhost = {}\nprocessor = {}\nprocessors = {}\n\n[figures]\n",
                    version, toml_string(c.day), toml_string(c.host), toml_string(c.processor), c.processors);
    for (const auto& [name, value] : c.values) text += fmt::format("\"{}\" = {}\n", name, value);
    return text;
}

} // namespace

calibration identity_of_this_machine(const std::string& processor) {
    return {day_now(), host_name(), processor, static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)), {}};
}

fs::path calibration_file(const std::string& host) {
    const auto directory = [](const char* variable) {
        const char* const value = std::getenv(variable);
        return value != nullptr && *value == '/' ? fs::path(value) : fs::path();
    };
    fs::path cache = directory("XDG_CACHE_HOME");
    if (const fs::path home = directory("HOME"); cache.empty() && !home.empty()) cache = home / ".cache";
    std::string name = host.empty() ? "this" : host;
    for (char& c : name)
        if (c == '/') c = '_';
    return cache.empty() ? cache : cache / "weft" / fmt::format("calibration-{}.toml", name);
}

std::optional<calibration> read_calibration(const fs::path& file, const calibration& of) {
    std::ifstream in(file, std::ios::binary);
    if (!in) return std::nullopt;
    std::ostringstream text;
    text << in.rdbuf();
    const toml::table table = parse_toml_table(text.str(), file.string());
    const toml_section root(table, file.string(), "",
                            {"version", "day", "host", "processor", "processors", "figures"});
    if (root.count("version", 1, std::numeric_limits<int>::max(), 1) != version) return std::nullopt;
    calibration c;
    c.day = root.text("day");
    c.host = root.text("host");
    c.processor = root.text("processor");
    c.processors = root.count("processors", 1, 1 << 20);
    if (c.host != of.host || c.processor != of.processor || c.processors != of.processors)
        return std::nullopt;
    const toml::table* const figures = table["figures"].as_table();
    if (figures == nullptr) return std::nullopt;
    for (const auto& [key, node] : *figures) {
        const std::optional<double> value = node.value<double>();
        if (!value || !std::isfinite(*value) || *value < 0)
            throw error(fmt::format("{}: {}", file.string(), key.str()), "no number",
                        "a finite number, 0 or above; or no such file: then the machine is measured again");
        c.values.emplace(key.str(), *value);
    }
    return c;
}

std::string write_calibration(const fs::path& file, const calibration& what) {
    std::error_code failure;
    fs::create_directories(file.parent_path(), failure);
    if (failure) return failure.message();
    const fs::path draft = file.string() + fmt::format(".{}", getpid());
    {
        std::ofstream out(draft, std::ios::binary);
        out << to_text(what);
        out.close();
        if (!out) {
            fs::remove(draft, failure);
            return "it cannot be written";
        }
    }
    fs::rename(draft, file, failure);
    return failure ? failure.message() : std::string();
}

} // namespace weft
