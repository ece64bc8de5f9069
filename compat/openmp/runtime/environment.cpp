#include "runtime/environment.hpp"
#include "runtime/affinity.hpp"
#include "runtime/dialect.hpp"
#include "runtime/launch.hpp"
#include "runtime/settings.hpp"
#include "runtime/topology.hpp"
#include "runtime/wait.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

/// OMP_* and KMP_*. libgomp reads them when it is loaded, libomp when the program first needs them; programs set them before. A value that OpenMP does not know is reported and has no effect, as OpenMP leaves
/// it to the implementation and programs are started with such values.
namespace weft::openmp {

namespace {

/// What the program has given instead (kmp_set_defaults()).
std::map<std::string, std::string, std::less<>>& given_by_program() {
    static std::map<std::string, std::string, std::less<>> all;
    return all;
}

} // namespace

std::string trimmed(std::string_view t) {
    while (!t.empty() && std::isspace(static_cast<unsigned char>(t.front()))) t.remove_prefix(1);
    while (!t.empty() && std::isspace(static_cast<unsigned char>(t.back()))) t.remove_suffix(1);
    return std::string(t);
}

std::string lower(std::string t) {
    std::ranges::transform(t, t.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return t;
}

std::optional<std::string> variable(const char* name) {
    if (const auto given = given_by_program().find(name); given != given_by_program().end())
        return trimmed(given->second);
    const char* const v = std::getenv(name);
    if (!v) return std::nullopt;
    return trimmed(v);
}

std::optional<long> number_of(const std::string& text) {
    const std::string t = trimmed(text);
    const char* first = t.data();
    if (t.starts_with('+')) ++first;
    long n = 0;
    const auto [end, error] = std::from_chars(first, t.data() + t.size(), n);
    if (error != std::errc{} || end != t.data() + t.size()) return std::nullopt;
    return n;
}

std::vector<std::string> parts_of(const std::string& list) {
    std::vector<std::string> parts;
    for (std::size_t from = 0;;) {
        const std::size_t comma = list.find(',', from);
        parts.push_back(
            trimmed(std::string_view(list).substr(from, comma == std::string::npos ? comma : comma - from)));
        if (comma == std::string::npos) return parts;
        from = comma + 1;
    }
}

std::optional<binding> binding_named(const std::string& t) {
    if (t == "false") return binding::off;
    if (t == "true") return binding::on;
    if (t == "master" || t == "primary") return binding::primary;
    if (t == "close") return binding::close;
    if (t == "spread") return binding::spread;
    return std::nullopt;
}

namespace {

bool read_truth(const char* name, bool& to) {
    const auto v = variable(name);
    if (!v) return false;
    const std::string t = lower(*v);
    if (t != "true" && t != "false") {
        refuse(name, *v, "true, false");
        return false;
    }
    to = t == "true";
    return true;
}

bool read_threads(process_settings& s) {
    const auto v = variable("OMP_NUM_THREADS");
    if (!v) return false;
    std::vector<int> all;
    for (const std::string& part : parts_of(*v)) {
        const auto n = number_of(part);
        if (!n || *n < 1 || *n > 0x7fff'ffff) {
            refuse("OMP_NUM_THREADS", *v, "positive numbers, separated by commas");
            return false;
        }
        all.push_back(static_cast<int>(*n));
    }
    s.first.threads = all.front();
    if (all.size() > 1) s.threads_of_level = all;
    return true;
}

void read_schedule(loop_schedule& to) {
    const auto v = variable("OMP_SCHEDULE");
    if (!v) return;
    const char* const allowed = "[monotonic:|nonmonotonic:]static|dynamic|guided|auto[,chunk]";
    std::string text = lower(*v);
    loop_schedule read{.monotonic = false, .chunk = 0};
    const bool is_kmp = speaks_kmp();
    const std::size_t colon = text.find(':');
    bool has_modifier = false;
    if (colon != std::string::npos) {
        const std::string modifier = trimmed(std::string_view(text).substr(0, colon));
        if (modifier != "monotonic" && modifier != "nonmonotonic") return refuse("OMP_SCHEDULE", *v, allowed);
        read.monotonic = modifier == "monotonic";
        has_modifier = true;
        text = text.substr(colon + 1);
    }
    const std::vector<std::string> parts = parts_of(text);
    const std::string& kind = parts[0];
    if (kind == "static")
        read.kind = schedule_kind::by_static;
    else if (kind == "dynamic")
        read.kind = schedule_kind::by_dynamic;
    else if (kind == "guided")
        read.kind = schedule_kind::by_guided;
    else if (kind == "auto")
        read.kind = schedule_kind::by_auto;
    else if (is_kmp && kind == "trapezoidal")
        read.kind = schedule_kind::by_trapezoid;
    else if (is_kmp && kind == "static_steal")
        read.kind = schedule_kind::by_dynamic; // what libomp says of it; threads take chunks from one place
    else
        return refuse("OMP_SCHEDULE", *v, allowed);
    // libgomp says the modifier though it was not given, libomp does not
    if (!is_kmp && read.kind == schedule_kind::by_static && !has_modifier) read.monotonic = true;
    if (parts.size() > 2) return refuse("OMP_SCHEDULE", *v, allowed);
    if (parts.size() == 2) {
        const auto n = number_of(parts[1]);
        if (!n || *n < 0 || *n > 0x7fff'ffff) return refuse("OMP_SCHEDULE", *v, allowed);
        read.chunk = static_cast<int>(*n);
    }
    if (read.chunk == 0 && read.kind != schedule_kind::by_static) read.chunk = 1;
    to = read;
}

bool read_bindings(process_settings& s) {
    const auto v = variable("OMP_PROC_BIND");
    if (!v) return false;
    std::vector<binding> all;
    for (const std::string& part : parts_of(lower(*v))) {
        const auto b = binding_named(part);
        if (!b || (all.size() > 0 && (*b == binding::off || *b == binding::on))) {
            refuse("OMP_PROC_BIND", *v,
                   "false, true, or primary, master, close, spread, separated by commas");
            return false;
        }
        all.push_back(*b);
    }
    s.first.bind = all.front();
    if (all.size() > 1) s.bind_of_level = all;
    return true;
}

void read_stack(process_settings& s) {
    for (const char* name : {"OMP_STACKSIZE", "GOMP_STACKSIZE", "KMP_STACKSIZE"}) {
        const auto v = variable(name);
        if (!v) continue;
        std::string text = lower(*v);
        std::size_t unit = 1024;
        if (!text.empty() && std::isalpha(static_cast<unsigned char>(text.back()))) {
            const std::size_t at = std::string_view("bkmg").find(text.back());
            if (at == std::string_view::npos) return refuse(name, *v, "a number with B, K, M or G");
            unit = std::size_t{1} << (10 * at);
            text.pop_back();
        }
        const auto n = number_of(text);
        if (!n || *n < 1) return refuse(name, *v, "a number with B, K, M or G");
        s.stack_bytes = static_cast<std::size_t>(*n) * unit;
        return;
    }
}

void read_waiting(process_settings& s) {
    using namespace std::chrono_literals;
    const auto v = variable("OMP_WAIT_POLICY");
    if (!v) return;
    const std::string t = lower(*v);
    if (t != "active" && t != "passive") return refuse("OMP_WAIT_POLICY", *v, "active, passive");
    s.wait_policy = t == "active" ? process_settings::waiting::active : process_settings::waiting::passive;
    set_patience(t == "active" ? std::chrono::nanoseconds(1ms) : 0ns);
    s.block_milliseconds = t == "active" ? std::numeric_limits<int>::max() : 0;
}

void read_levels(process_settings& s) {
    bool nested = false;
    const bool is_nested_set = read_truth("OMP_NESTED", nested);
    int levels = 0;
    if (read_number("OMP_MAX_ACTIVE_LEVELS", levels, 0, 0x7fff'ffff))
        s.first.max_active_levels = static_cast<std::uint8_t>(std::min(levels, most_active_levels));
    else if (is_nested_set)
        s.first.max_active_levels = nested ? most_active_levels : 1;
    else if (!s.threads_of_level.empty() || !s.bind_of_level.empty())
        s.first.max_active_levels = most_active_levels;
}

void read_allocator(process_settings& s) {
    const auto v = variable("OMP_ALLOCATOR");
    if (!v) return;
    constexpr std::string_view names[] = {"default", "large_cap", "const", "high_bw",
                                          "low_lat", "cgroup",    "pteam", "thread"};
    std::string t = lower(*v);
    for (std::size_t i = 0; i < std::size(names); ++i)
        if (t == "omp_" + std::string(names[i]) + (i < 5 ? "_mem_alloc" : "_mem_alloc") ||
            t == std::to_string(i + 1)) {
            s.first.allocator = i + 1;
            return;
        }
    refuse("OMP_ALLOCATOR", *v,
           "the name of a predefined allocator; memory spaces with traits are not supported");
}

void read_offload(process_settings& s) {
    const auto v = variable("OMP_TARGET_OFFLOAD");
    if (!v) return;
    const std::string t = lower(*v);
    using kind = process_settings::offloading;
    if (t == "default")
        s.offload = kind::by_default;
    else if (t == "disabled")
        s.offload = kind::disabled;
    else if (t == "mandatory")
        s.offload = kind::mandatory;
    else
        refuse("OMP_TARGET_OFFLOAD", *v, "default, disabled, mandatory");
}

void read_thread_kind(process_settings& s) {
    const auto v = variable("WEFT_OPENMP_THREADS");
    if (!v) return;
    using kind = process_settings::thread_kind;
    if (*v == "auto")
        s.threads_are = kind::by_data;
    else if (*v == "tasks")
        s.threads_are = kind::tasks;
    else if (*v == "kernel")
        s.threads_are = kind::kernel_threads;
    else
        refuse("WEFT_OPENMP_THREADS", *v, "auto, tasks, kernel");
}

process_settings read_environment() {
    process_settings s;
    if (speaks_kmp()) {
        s.first.run_schedule = {.kind = schedule_kind::by_static, .chunk = 0};
        s.affinity_format = "OMP: pid %P tid %i thread %n bound to OS proc set {%A}";
    }
    if (const auto v = variable("KMP_HW_SUBSET"); v && speaks_kmp() && !restrict_processors(*v))
        refuse("KMP_HW_SUBSET", *v, "numbers of sockets (s), cores (c) and threads (t), of which some exist");
    s.processors = std::max(1, static_cast<int>(usable_processors().size()));
    if (!read_threads(s)) {
        s.first.threads = s.processors;
        // WEFT_WORKERS is the width that the user has chosen for Weft.
        if (const auto w = variable("WEFT_WORKERS"))
            if (const auto n = number_of(*w); n && *n >= 1 && *n <= 1024)
                s.first.threads = static_cast<int>(*n);
    }
    static_cast<void>(read_truth("OMP_DYNAMIC", s.first.dynamic));
    static_cast<void>(read_truth("OMP_CANCELLATION", s.cancellation));
    static_cast<void>(read_truth("OMP_DISPLAY_AFFINITY", s.displays_affinity));
    static_cast<void>(read_number("OMP_THREAD_LIMIT", s.first.thread_limit, 1, 0x7fff'ffff));
    static_cast<void>(read_number("OMP_MAX_TASK_PRIORITY", s.max_task_priority, 0, 0x7fff'ffff));
    static_cast<void>(read_number("OMP_DEFAULT_DEVICE", s.first.default_device, 0, 0x7fff'ffff));
    static_cast<void>(read_number("OMP_NUM_TEAMS", s.teams, 1, 0x7fff'ffff));
    static_cast<void>(read_number("OMP_TEAMS_THREAD_LIMIT", s.teams_thread_limit, 1, 0x7fff'ffff));
    read_schedule(s.first.run_schedule);
    const bool is_bound = read_bindings(s);
    if (const auto v = variable("OMP_PLACES")) {
        bool is_read = read_places(*v);
        if (!is_read) {
            refuse("OMP_PLACES", *v, "threads, cores, sockets, or a list of places");
            // libomp goes on with the name that it has recognised, or with cores
            if (speaks_kmp()) is_read = read_places(named_level(*v));
        }
        if (is_read && !is_bound) s.first.bind = binding::on;
    }
    read_levels(s);
    read_stack(s);
    read_waiting(s);
    read_allocator(s);
    read_offload(s);
    read_thread_kind(s);
    if (const auto v = variable("OMP_AFFINITY_FORMAT")) s.affinity_format = *v;
    if (speaks_kmp()) read_kmp(s);
    return s;
}

/// How long Weft's idle workers look for work before they sleep. Threads that wait in a region have `set_patience`.
void set_spin_of_workers() {
    const auto v = variable("OMP_WAIT_POLICY");
    const std::string t = v ? lower(*v) : "";
    if (t == "active") setenv("WEFT_SPIN", "10000", 0); // in microseconds
    if (t == "passive") setenv("WEFT_SPIN", "0", 0);
}

/// What must be right before the first runtime of Weft is made: stacks and waiting. libgomp also reads all else now.
[[gnu::constructor]] void begin() {
    process_settings early;
    if (speaks_kmp())
        read_stack(early);
    else
        early.stack_bytes = settings().stack_bytes;
    if (early.stack_bytes > 0)
        setenv("WEFT_STACK", std::to_string(std::max<std::size_t>(early.stack_bytes, 65536)).c_str(), 0);
    set_spin_of_workers();
    if (!speaks_kmp()) show_settings();
}

/// The value of a setting that the caller has, if reading again has changed what it began with.
template <class T>
void follow(T& present, const T& before, const T& now) {
    if (before != now) present = now;
}

} // namespace

void show_settings() {
    if (settings().displays_settings) display_kmp_settings();
    const auto display = variable("OMP_DISPLAY_ENV");
    if (!display) return;
    const std::string t = lower(*display);
    if (t == "true" || t == "1" || t == "verbose") display_settings(t == "verbose");
}

void refuse(const char* name, const std::string& value, const char* allowed) {
    if (speaks_kmp())
        std::fprintf(stderr,
                     "OMP: Warning #42: %s: \"%s\" is an invalid value; ignored. (weft: allowed: %s)\n", name,
                     value.c_str(), allowed);
    else
        std::fprintf(stderr, "weft: OpenMP: the value of %s is ignored: given: '%s'; allowed: %s\n", name,
                     value.c_str(), allowed);
}

process_settings& settings() noexcept {
    static process_settings all = read_environment();
    return all;
}

void read_settings_again(const char* text, task_settings& of_caller) {
    for (std::string_view rest(text ? text : ""); !rest.empty();) {
        const std::string_view one = rest.substr(0, rest.find('|'));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        if (const std::size_t at = one.find('='); at != std::string_view::npos)
            given_by_program()[trimmed(one.substr(0, at))] = std::string(one.substr(at + 1));
    }
    const task_settings before = settings().first;
    settings() = read_environment();
    const task_settings& now = settings().first;
    follow(of_caller.threads, before.threads, now.threads);
    follow(of_caller.thread_limit, before.thread_limit, now.thread_limit);
    follow(of_caller.max_active_levels, before.max_active_levels, now.max_active_levels);
    follow(of_caller.dynamic, before.dynamic, now.dynamic);
    follow(of_caller.run_schedule, before.run_schedule, now.run_schedule);
    follow(of_caller.default_device, before.default_device, now.default_device);
    follow(of_caller.allocator, before.allocator, now.allocator);
    follow(of_caller.bind, before.bind, now.bind);
}

} // namespace weft::openmp
