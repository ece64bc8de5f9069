#include "runtime/affinity.hpp"

#include "runtime/settings.hpp"
#include "runtime/team.hpp"

#include "engine/run/default_engine.hpp"
#include "engine/worker/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::openmp {

namespace {

std::vector<std::vector<int>>& all_places() {
    static std::vector<std::vector<int>> all;
    return all;
}

std::vector<int> processors_of_process() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> all;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return all;
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &set)) all.push_back(i);
    return all;
}

/// A reader of OMP_PLACES: {a,b:len:stride,!c}:len:stride, ...; or the name of a level, with a count.
class places_reader {
public:
    explicit places_reader(std::string_view text) : rest_(text) {}

    bool read(std::vector<std::vector<int>>& out) {
        skip();
        if (!rest_.empty() && (std::isalpha(static_cast<unsigned char>(rest_.front())) != 0))
            return read_level(out);
        do {
            if (!read_interval(out)) return false;
        } while (take(','));
        return rest_.empty() && !out.empty();
    }

private:
    void skip() {
        while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())))
            rest_.remove_prefix(1);
    }
    bool take(char c) {
        skip();
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        skip();
        return true;
    }
    std::optional<long> number() {
        skip();
        long n = 0;
        const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
        if (error != std::errc{}) return std::nullopt;
        rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
        skip();
        return n;
    }
    struct interval {
        long length = 1, stride = 1;
    };
    bool read_length(interval& i) {
        if (!take(':')) return true;
        const auto length = number();
        if (!length || *length < 1 || *length > 65536) return false;
        i.length = *length;
        if (!take(':')) return true;
        const auto stride = number();
        if (!stride) return false;
        i.stride = *stride;
        return true;
    }
    bool read_place(std::vector<int>& place) {
        if (!take('{')) {
            const auto n = number();
            if (!n || *n < 0) return false;
            place.push_back(static_cast<int>(*n));
            return true;
        }
        do {
            const bool removes = take('!');
            const auto first = number();
            interval i;
            if (!first || *first < 0 || !read_length(i)) return false;
            for (long k = 0; k < i.length; ++k) {
                const auto cpu = static_cast<int>(*first + k * i.stride);
                std::erase(place, cpu);
                if (!removes) place.push_back(cpu);
            }
        } while (take(','));
        return take('}');
    }
    bool read_interval(std::vector<std::vector<int>>& out) {
        const bool removes = take('!');
        std::vector<int> place;
        interval i;
        if (!read_place(place) || !read_length(i)) return false;
        const std::vector<int> usable = processors_of_process();
        for (long k = 0; k < i.length; ++k) {
            std::vector<int> at;
            for (const int cpu : place)
                if (const long n = cpu + k * i.stride; std::ranges::find(usable, n) != usable.end())
                    at.push_back(static_cast<int>(n));
            std::ranges::sort(at);
            if (removes)
                std::erase(out, at);
            else if (!at.empty())
                out.push_back(std::move(at));
        }
        return true;
    }
    bool read_level(std::vector<std::vector<int>>& out) {
        std::size_t n = 0;
        while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_'))
            ++n;
        std::string name(rest_.substr(0, n));
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
        rest_.remove_prefix(n);
        std::optional<long> count;
        if (take('(')) {
            count = number();
            if (!count || *count < 1 || !take(')')) return false;
        }
        if (!rest_.empty()) return false;
        const std::vector<int> usable = processors_of_process();
        if (name == "threads" || name == "cores") {
            for (const int cpu : usable) out.push_back({cpu});
        } else if (name == "sockets" || name == "ll_caches" || name == "numa_domains") {
            out.push_back(usable);
        } else {
            return false;
        }
        if (count && static_cast<std::size_t>(*count) < out.size())
            out.resize(static_cast<std::size_t>(*count));
        return true;
    }

    std::string_view rest_;
};

binding binding_of(const team& t, int bind) noexcept {
    const binding given = t.seats[0].implicit.icv.bind;
    return given == binding::off || bind == 0 ? given : static_cast<binding>(bind);
}

} // namespace

const std::vector<std::vector<int>>& places() noexcept { return all_places(); }

bool read_places(const std::string& text) {
    std::vector<std::vector<int>> read;
    if (!places_reader(text).read(read)) return false;
    all_places() = std::move(read);
    return true;
}

int place_of_thread(const team& t, int i, int bind) noexcept {
    const int count = static_cast<int>(places().size());
    const binding how = binding_of(t, bind);
    if (count == 0 || how == binding::off) return -1;
    const int here = t.outer && t.around && t.around->on ? std::max(t.around->on->place, 0) : 0;
    switch (how) {
    case binding::off:
    case binding::primary: return here;
    case binding::spread: return (here + i * count / std::max(t.size, 1)) % count;
    case binding::on:
    case binding::close: break;
    }
    return t.size <= count ? (here + i) % count : (here + i * count / t.size) % count;
}

unsigned worker_of_thread(const team& t, unsigned i, unsigned otherwise) noexcept {
    const int place = t.seats[i].place;
    if (place < 0) return otherwise;
    const std::vector<int>& cpus = places()[static_cast<std::size_t>(place)];
    engine::engine& e = engine::default_engine();
    for (int w = 0; w < e.worker_count(); ++w) {
        const auto core = static_cast<std::size_t>(e.worker_at(w).core());
        if (core < e.machine.cores().size() &&
            std::ranges::find(cpus, static_cast<int>(e.machine.cores()[core].os_index)) != cpus.end())
            return static_cast<unsigned>(w);
    }
    return otherwise;
}

namespace {

std::string describe_processors() {
    std::string text;
    const std::vector<int> all = processors_of_process();
    for (std::size_t i = 0; i < all.size();) {
        std::size_t last = i;
        while (last + 1 < all.size() && all[last + 1] == all[last] + 1) ++last;
        text += fmt::format("{}{}", text.empty() ? "" : ",", all[i]);
        if (last > i) text += fmt::format("-{}", all[last]);
        i = last + 1;
    }
    return text;
}

struct field {
    char short_name;
    std::string_view long_name;
};
constexpr field fields[] = {{'t', "team_num"},       {'T', "num_teams"},   {'L', "nesting_level"},
                            {'n', "thread_num"},     {'N', "num_threads"}, {'a', "ancestor_tnum"},
                            {'H', "host"},           {'P', "process_id"},  {'i', "native_thread_id"},
                            {'A', "thread_affinity"}};

std::string value_of(char name, const region& r) {
    const team& t = *r.in;
    switch (name) {
    case 't': return fmt::format("{}", t.league_rank);
    case 'T': return fmt::format("{}", t.league_size);
    case 'L': return fmt::format("{}", t.level);
    case 'n': return fmt::format("{}", r.on->number);
    case 'N': return fmt::format("{}", t.size);
    case 'a': return fmt::format("{}", t.around ? t.around->on->number : -1);
    case 'H': {
        char host[256] = "";
        gethostname(host, sizeof host - 1);
        return host;
    }
    case 'P': return fmt::format("{}", getpid());
    case 'i': return fmt::format("{:#x}", static_cast<unsigned long>(pthread_self()));
    case 'A':
        if (r.on->place < 0) return describe_processors();
        return fmt::format("{}", fmt::join(places()[static_cast<std::size_t>(r.on->place)], ","));
    default: return "undefined";
    }
}

bool is_number(char name) noexcept {
    return std::string_view("tTLnNaPi").find(name) != std::string_view::npos;
}

} // namespace

std::string describe_affinity(const region& r, const std::string& format) {
    std::string out;
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') {
            out += format[i];
            continue;
        }
        if (++i == format.size()) break;
        if (format[i] == '%') {
            out += '%';
            continue;
        }
        bool pads_with_zero = false, right = false;
        std::size_t width = 0;
        if (format[i] == '0') pads_with_zero = true, ++i;
        if (i < format.size() && format[i] == '.') right = true, ++i;
        while (i < format.size() && std::isdigit(static_cast<unsigned char>(format[i])))
            width = width * 10 + static_cast<std::size_t>(format[i++] - '0');
        char name = i < format.size() ? format[i] : '?';
        if (name == '{') {
            const std::size_t end = format.find('}', i);
            const std::string_view word(format.data() + i + 1,
                                        (end == std::string::npos ? format.size() : end) - i - 1);
            const auto* const known = std::ranges::find(fields, word, &field::long_name);
            name = known == std::end(fields) ? '?' : known->short_name;
            i = end == std::string::npos ? format.size() : end;
        }
        std::string value = value_of(name, r);
        if (value.size() < width) {
            const std::size_t missing = width - value.size();
            if (pads_with_zero && right && is_number(name)) {
                const std::size_t at = value.starts_with("0x") ? 2 : value.starts_with("-") ? 1 : 0;
                value.insert(at, missing, '0');
            } else if (right) {
                value.insert(0, missing, ' ');
            } else {
                value.append(missing, ' ');
            }
        }
        out += value;
    }
    return out;
}

void display_affinity_of(const team& t) {
    std::string all;
    for (int i = 0; i < t.size; ++i)
        all += describe_affinity(t.seats[static_cast<std::size_t>(i)].implicit, settings().affinity_format) +
               "\n";
    std::fputs(all.c_str(), stderr);
}

} // namespace weft::openmp
