#include "runtime/affinity.hpp"

#include "runtime/dialect.hpp"
#include "runtime/settings.hpp"
#include "runtime/team.hpp"
#include "runtime/topology.hpp"

#include "engine/run/default_engine.hpp"
#include "engine/worker/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
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

std::vector<int> processors_of_process() {
    std::vector<int> all;
    for (const processor& p : usable_processors()) all.push_back(p.number);
    std::ranges::sort(all);
    return all;
}

binding binding_of(const team& t, int bind) noexcept {
    const binding given = t.seats[0].implicit.icv.bind;
    return given == binding::off || bind == 0 ? given : static_cast<binding>(bind);
}

} // namespace

placement place_of_thread(const placement& parent, binding how, int i, int threads) noexcept {
    const int all = static_cast<int>(places().size());
    if (all == 0 || how == binding::off) return {};
    const int first = parent.first, count = parent.count ? parent.count : all;
    // Places of the partition by their order in it, from that of the parent on.
    const int here = parent.place < 0 ? 0 : (parent.place - first + all) % all;
    const auto nth = [&](int n) { return (first + (here + n) % count) % all; };
    switch (how) {
    case binding::off:
    case binding::primary: return {nth(0), first, count};
    case binding::spread:
        if (threads <= count) {
            const int each = count / threads, larger = count % threads;
            const int place = nth(i * each + std::min(i, larger));
            return {place, place, each + (i < larger)};
        } else {
            const int place = nth(static_cast<int>(std::int64_t{i} * count / threads));
            return {place, place, 1};
        }
    case binding::on:
    case binding::close: break;
    }
    return {nth(threads <= count ? i : static_cast<int>(std::int64_t{i} * count / threads)), first, count};
}

void place_threads(team& t, int bind) noexcept {
    const binding how = binding_of(t, bind);
    const placement parent = t.outer && t.around && t.around->on ? t.around->on->place : placement{};
    for (int i = 0; i < t.size; ++i)
        t.seats[static_cast<std::size_t>(i)].place = place_of_thread(parent, how, i, t.size);
}

unsigned worker_of_thread(const team& t, unsigned i, unsigned otherwise) noexcept {
    const int place = t.seats[i].place.place;
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
    case 'i':
        return speaks_kmp() ? fmt::format("{}", gettid())
                            : fmt::format("{:#x}", static_cast<unsigned long>(pthread_self()));
    case 'A':
        if (r.on->place.place < 0) return describe_processors();
        return fmt::format("{}", fmt::join(places()[static_cast<std::size_t>(r.on->place.place)], ","));
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

void print_affinity(const std::string& lines) { std::fputs(lines.c_str(), speaks_kmp() ? stdout : stderr); }

void note_places(team& t) {
    std::vector<int> now;
    for (int i = 0; i < t.size; ++i) now.push_back(t.seats[static_cast<std::size_t>(i)].place.place);
    t.has_new_places = t.shown_places != now;
    t.shown_places = std::move(now);
}

void display_affinity_of(region& implicit) {
    const team& t = *implicit.in;
    auto& thread = const_cast<seat&>(thread_of(*implicit.on)); // which is the caller's
    if (!t.has_new_places && thread.shown_level == t.level && thread.shown_size == t.size) return;
    thread.shown_level = t.level;
    thread.shown_size = t.size;
    print_affinity(describe_affinity(implicit, settings().affinity_format) + "\n");
}

} // namespace weft::openmp
