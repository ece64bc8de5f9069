#include "replay/check_records.hpp"

#include <weft/declare.hpp>

#include <fmt/format.h>

#include <climits>
#include <cstddef>
#include <iterator>
#include <stdexcept>

namespace weft::replay {

namespace {

using trace::kind;
using trace::record;

/// A model keeps account of each block of data that is touched.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
/// Of all cycles and of all times in nanoseconds, each: decades. The model's clock counts 146 years.
constexpr std::uint64_t most_time = std::uint64_t{1} << 60;

class checker {
public:
    explicit checker(const std::unordered_map<std::uint32_t, std::string>& names) : names_(names) {}

    void check(const record& r, std::size_t index) {
        at_ = index;
        of_ = r.what_kind;
        if (r.at >= most_time) fail("time", r.at, "below 2^60");
        switch (r.what_kind) {
        case kind::spawn:
            known(r.n);
            return at_most("origin", r.what, static_cast<std::uint8_t>(trace::origin::runtime));
        case kind::begin: return at_most("start", r.what, static_cast<std::uint8_t>(trace::start::inside));
        case kind::group: return known(r.n);
        case kind::need:
            known(r.n);
            if (r.a > INT64_MAX) fail("amount", r.a, "below 2^63");
            return at_most("within", r.what, 3);
        case kind::data:
            data(r, UINT64_MAX);
            if (r.what != trace::whole_interval) at_most("mode", r.what, 3);
            return;
        case kind::touch:
            data(r, most_bytes);
            return at_most("access", r.what, static_cast<unsigned>(access::atomic));
        case kind::home: return data(r, most_bytes);
        case kind::transfer:
            known(r.n);
            if (r.a > most_time) fail("bytes", r.a, "up to 2^60");
            return;
        case kind::cost:
            // One after the other, since a sum might overflow.
            if (r.a > most_time - cycles_) fail("cycles of all records so far", r.a, "up to 2^60");
            cycles_ += r.a;
            return at_most("kind of work", r.what, static_cast<unsigned>(work::vector));
        case kind::iteration:
            // -1: weft::initialisation
            if (r.a > INT_MAX && ~r.a != 0) fail("iteration", r.a, "below 2^31, or 2^64 - 1");
            return;
        default: return;
        }
    }

private:
    [[noreturn]] void fail(const char* what, std::uint64_t given, const std::string& allowed) const {
        throw std::invalid_argument(
            fmt::format("the trace is damaged: record {} ({}): impossible {}; given: {}; allowed: {}", at_,
                        trace::kind_names[static_cast<std::size_t>(of_)], what, given, allowed));
    }
    void at_most(const char* what, std::uint64_t given, std::uint64_t most) const {
        if (given > most) fail(what, given, fmt::format("0 to {}", most));
    }
    void known(std::uint32_t name) const {
        if (name != 0 && !names_.contains(name))
            fail("name", name, "a number that the trace gives to a name");
    }
    void data(const record& r, std::uint64_t most) const {
        if (r.b > most) fail("size of data in bytes", r.b, "up to 2^40");
        if (r.a + r.b < r.a)
            fail("size of data in bytes", r.b,
                 fmt::format("up to the end of the address space from {} on", r.a));
    }

    const std::unordered_map<std::uint32_t, std::string>& names_;
    std::uint64_t cycles_ = 0;
    std::size_t at_ = 0;
    kind of_ = kind::none;
};

} // namespace

void check_records(std::span<const record> records,
                   const std::unordered_map<std::uint32_t, std::string>& names) {
    for (const auto& [number, name] : names)
        if (number == 0 || number > most_name_number(names.size()))
            throw std::invalid_argument(fmt::format(
                "the trace is damaged: impossible number of a name; given: {} for '{}'; allowed: 1 to {}",
                number, name, most_name_number(names.size())));
    checker c(names);
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (static_cast<std::size_t>(records[i].what_kind) >= std::size(trace::kind_names))
            throw std::invalid_argument(
                fmt::format("the trace is damaged: record {}: unknown kind; given: {}; allowed: 1 to {}", i,
                            static_cast<int>(records[i].what_kind), std::size(trace::kind_names) - 1));
        c.check(records[i], i);
    }
}

} // namespace weft::replay
