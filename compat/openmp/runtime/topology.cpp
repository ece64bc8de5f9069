#include "runtime/topology.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <sched.h>

namespace weft::openmp {

namespace {

/// A number that the kernel says of a processor; 0 if it says none.
int told(int cpu, const char* what) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + what);
    int n = 0;
    return file >> n ? n : 0;
}

std::vector<processor> read_processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<processor> all;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return all;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &set)) all.push_back({i, told(i, "core_id"), told(i, "physical_package_id")});
    std::ranges::sort(all, {}, [](const processor& p) { return std::array{p.socket, p.core, p.number}; });
    return all;
}

const std::vector<processor>& of_process() {
    static const std::vector<processor> all = read_processors();
    return all;
}
std::vector<processor>& present() {
    static std::vector<processor> left = of_process();
    return left;
}

template <class Key>
std::vector<std::vector<int>> grouped_by(Key&& key) {
    std::map<std::array<int, 2>, std::vector<int>> groups;
    for (const processor& p : present()) groups[key(p)].push_back(p.number);
    std::vector<std::vector<int>> all;
    for (auto& [of, numbers] : groups) {
        std::ranges::sort(numbers);
        all.push_back(std::move(numbers));
    }
    return all;
}

/// So many of a layer, from one on. Negative: all.
struct layer {
    int count = -1, from = 0;
    bool is_named = false;

    bool has(int n) const noexcept { return n >= from && (count < 0 || n < from + count); }
};
struct subset {
    layer sockets, cores, threads;
    bool is_absolute = false;
};

std::optional<int> take_number(std::string_view& text) {
    int n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc{} || n < 0) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return n;
}

layer* layer_named(subset& s, std::string_view name) noexcept {
    if (name == "s" || name == "socket" || name == "sockets") return &s.sockets;
    if (name == "c" || name == "core" || name == "cores") return &s.cores;
    return name == "t" || name == "thread" || name == "threads" ? &s.threads : nullptr;
}

std::optional<subset> read_subset(const std::string& text) {
    std::string lower;
    for (const char c : text)
        if (!std::isspace(static_cast<unsigned char>(c)))
            lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::string_view rest(lower);
    subset s;
    if ((s.is_absolute = rest.starts_with(':'))) rest.remove_prefix(1);
    while (!rest.empty()) {
        std::string_view one = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        int count = -1;
        if (one.starts_with('*')) {
            one.remove_prefix(1);
        } else {
            const auto n = take_number(one);
            if (!n || *n == 0) return std::nullopt;
            count = *n;
        }
        const std::size_t at = one.find('@');
        layer* const l = layer_named(s, one.substr(0, at));
        if (!l || l->is_named) return std::nullopt;
        *l = {.count = count, .is_named = true};
        if (at == std::string_view::npos) continue;
        one.remove_prefix(at + 1);
        const auto from = take_number(one);
        if (!from || !one.empty()) return std::nullopt;
        l->from = *from;
    }
    return s;
}

/// Numbers equal keys that follow each other, within equal outer keys.
class counter {
public:
    int number_of(int outer, int key) noexcept {
        if (!is_begun_ || outer != outer_)
            number_ = 0;
        else if (key != key_)
            ++number_;
        is_begun_ = true;
        outer_ = outer;
        key_ = key;
        return number_;
    }

private:
    bool is_begun_ = false;
    int outer_ = 0, key_ = 0, number_ = 0;
};

} // namespace

const std::vector<processor>& usable_processors() { return present(); }

bool restrict_processors(const std::string& text) {
    const auto s = read_subset(text);
    if (!s) return false;
    std::vector<processor> left;
    counter sockets, cores, threads;
    int core_of_process = -1; // distinct for each core
    processor last;
    for (const processor& p : of_process()) {
        if (core_of_process < 0 || p.socket != last.socket || p.core != last.core) ++core_of_process;
        last = p;
        const int socket = sockets.number_of(0, p.socket), core = cores.number_of(p.socket, p.core);
        const bool are_in_socket = s->is_absolute && !s->cores.is_named;
        const int thread = threads.number_of(are_in_socket ? p.socket : core_of_process, p.number);
        if (s->sockets.has(socket) && s->cores.has(core) && s->threads.has(thread)) left.push_back(p);
    }
    if (left.empty()) return false;
    present() = std::move(left);
    return true;
}

std::vector<std::vector<int>> processors_by_core() {
    return grouped_by([](const processor& p) { return std::array{p.socket, p.core}; });
}
std::vector<std::vector<int>> processors_by_socket() {
    return grouped_by([](const processor& p) { return std::array{p.socket, 0}; });
}

} // namespace weft::openmp
