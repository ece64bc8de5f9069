#include "runtime/affinity.hpp"
#include "runtime/settings.hpp"
#include "runtime/topology.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

/// OMP_PLACES.
namespace weft::openmp {

namespace {

/// The places, and how they were given.
struct place_list {
    std::vector<std::vector<int>> all{};
    std::string text{};
};
place_list& list() {
    static place_list of_process;
    return of_process;
}

std::vector<int> processors_of_process() {
    std::vector<int> all;
    for (const processor& p : usable_processors()) all.push_back(p.number);
    std::ranges::sort(all);
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
        if (name == "threads")
            for (const int cpu : usable) out.push_back({cpu});
        else if (name == "cores")
            out = processors_by_core();
        else if (name == "sockets")
            out = processors_by_socket();
        else if (name == "ll_caches" || name == "numa_domains")
            out.push_back(usable);
        else
            return false;
        if (count && static_cast<std::size_t>(*count) < out.size())
            out.resize(static_cast<std::size_t>(*count));
        return true;
    }

    std::string_view rest_;
};

} // namespace

const std::vector<std::vector<int>>& places() noexcept {
    static_cast<void>(settings()); // which reads them
    return list().all;
}
std::string places_text() { return list().text; }

bool read_places(const std::string& text) {
    std::vector<std::vector<int>> read;
    if (!places_reader(text).read(read)) return false;
    list() = {std::move(read), text};
    return true;
}

} // namespace weft::openmp
