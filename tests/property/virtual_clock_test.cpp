// However late it is, virtual time passes: transfers that share a bandwidth end, after as many steps as at the
// beginning, and cores run as fast. Up to ten virtual years.
#include "engine/model/core_speed.hpp"
#include "engine/model/shared_bandwidth.hpp"
#include "engine/model/virtual_clock.hpp"
#include "machine/load.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"

namespace weft::engine {
namespace {

constexpr time_ns ten_years = time_ns{3653} * 24 * 3600 * 1'000'000'000;

/// Times of all sizes, and those beside a multiple of the epoch.
rc::Gen<time_ns> any_time() {
    return rc::gen::map(rc::gen::tuple(rc::gen::inRange(0, 59), rc::gen::arbitrary<std::uint64_t>(),
                                       rc::gen::inRange(-3, 4), rc::gen::inRange(0, 4)),
                        [](const auto& drawn) {
                            const auto& [bits, value, beside, kind] = drawn;
                            const auto t =
                                static_cast<time_ns>(value & ((std::uint64_t{1} << bits) - 1)) % ten_years;
                            return kind == 0 ? std::max<time_ns>(0, epoch_of(t) + beside) : t;
                        });
}

RC_GTEST_PROP(virtual_clock, what_is_not_over_yet_ends_later, ()) {
    const time_ns now = *any_time();
    const double left = std::exp2(*rc::gen::inRange(-9, 70)) * (1 + *rc::gen::inRange(0, 1000) / 1000.0);
    const time_ns at = at_or_after(now, left);
    RC_ASSERT(at > now);
    RC_ASSERT(at <= end_of_time);
    if (left < 1e6) RC_ASSERT(std::abs(static_cast<double>(at - now) - left) <= 1.0);
    RC_ASSERT(at_or_after(now, 1e-3) == now + 1);
    RC_ASSERT(at_or_after(now, 0) == now);
}

// ---- transfers

struct drawn_transfer {
    time_ns begins; ///< after the time at which all begins
    double least_ns, bytes;
    std::vector<shared_bandwidth::use> of;
};

std::vector<drawn_transfer> any_transfers() {
    std::vector<drawn_transfer> all;
    time_ns at = 0;
    for (int n = *rc::gen::inRange(1, 9); n > 0; --n) {
        drawn_transfer t{at, *rc::gen::inRange(1, 100'000) / 7.0, std::exp2(*rc::gen::inRange(0, 40)), {}};
        for (int r = 0; r < 3; ++r)
            if (*rc::gen::arbitrary<bool>()) t.of.push_back({r, t.bytes / *rc::gen::inRange(1, 4)});
        all.push_back(std::move(t));
        at += *rc::gen::inRange(0, 1000);
    }
    return all;
}

/// The ends of the transfers by owner, relative to `start`, as the engine advances to them.
std::map<int, time_ns> ends_of(const std::vector<drawn_transfer>& all, const std::vector<double>& capacities,
                               time_ns start) {
    shared_bandwidth b(capacities);
    std::map<int, time_ns> ends;
    std::size_t begun = 0, steps = 0;
    while (begun < all.size() || !b.empty()) {
        const time_ns next = begun < all.size() ? start + all[begun].begins : end_of_time;
        if (const time_ns end = b.next_end(); end <= next) {
            RC_ASSERT(end < end_of_time);
            RC_ASSERT(++steps <= 8 * all.size());
            b.advance(end, [&](int owner) { ends[owner] = end - start; });
        } else {
            const drawn_transfer& t = all[begun];
            b.begin(static_cast<int>(begun), next, t.least_ns, t.bytes, t.of);
            ++begun;
        }
    }
    return ends;
}

RC_GTEST_PROP(shared_bandwidth, transfers_end_as_they_would_at_the_beginning, ()) {
    const std::vector<drawn_transfer> all = any_transfers();
    std::vector<double> capacities;
    for (int r = 0; r < 3; ++r) capacities.push_back(std::exp2(*rc::gen::inRange(-19, 30)));
    const time_ns start = *any_time();
    const auto early = ends_of(all, capacities, start - epoch_of(start));
    const auto late = ends_of(all, capacities, start);
    RC_ASSERT(late == early); // to the bit
    for (const auto& [owner, end] : ends_of(all, capacities, 0)) {
        const auto far = static_cast<double>(end);
        RC_ASSERT(std::abs(static_cast<double>(late.at(owner) - end)) <= 2 + 1e-9 * far);
    }
}

/// A transfer that a bandwidth of next to nothing serves: machine files have none, but changes of a machine may
/// leave one for a time.
TEST(shared_bandwidth, next_to_no_capacity_is_divided_in_finitely_many_steps) {
    for (const double gbps : {1e-320, 5e-324, 1e-300, 0.0}) {
        shared_bandwidth b({gbps, gbps, 1.0});
        for (int i = 0; i < 5; ++i)
            b.begin(i, 0, 1e-3 * (i + 1), 1e9 / (i + 1),
                    std::vector<shared_bandwidth::use>{{i % 3, 1e9 / (i + 1)}, {(i + 1) % 3, 7.0}});
        EXPECT_GT(b.next_end(), 0) << gbps;
    }
}

// ---- cores

RC_GTEST_PROP(core_speed, work_takes_as_long_as_it_would_at_the_beginning, ()) {
    const machine m = test::equal_cores(1);
    scenario changes;
    changes.cores.push_back({.from = 0, .speed = 0.375});
    const core_speed slowed(m, changes);
    const time_ns start = *any_time();
    const double work = *rc::gen::inRange(1, 1'000'000) / 16.0;
    const double took = slowed.duration(0, work, work_kind::general, start, 0.25);
    RC_ASSERT(std::abs(took - work / 0.375) <= 0.01);
}

// ---- the engine

/// Two cores that read more than their memory delivers.
machine contended() {
    return parse_toml("name = 'contended'\n[[core_class]]\nname = 'core'\nfrequency_mhz = 1000\n"
                      "[regular]\ncores_per_domain = 2\n"
                      "[[memory_node]]\nbandwidth_gbps = 3.7\nlatency_ns = 91.3\n",
                      "contended");
}

RC_GTEST_PROP(model_engine, contended_touches_end_however_late_it_is, ()) {
    const time_ns late = *any_time();
    const auto size = [] { return static_cast<std::size_t>(*rc::gen::inRange(64, 1 << 18)); };
    std::vector<std::size_t> first_sizes, second_sizes;
    for (int i = 0; i < 8; ++i) first_sizes.push_back(size()), second_sizes.push_back(size());
    std::vector<char> first(1 << 18), second(1 << 18);
    test::modelled model("steal", contended());
    const auto touch_all = [](const std::vector<char>& data, const std::vector<std::size_t>& sizes) {
        for (const std::size_t bytes : sizes) {
            weft::touch(data.data(), bytes, access::read);
            weft::cost(100);
        }
    };
    auto touches = [&] {
        weft::join([&] { touch_all(first, first_sizes); }, [&] { touch_all(second, second_sizes); });
    };
    const time_ns early = model.run(touches);
    model.run([&] { weft::cost(static_cast<std::uint64_t>(late)); });
    const time_ns then = model.run(touches);
    RC_ASSERT(model.engine.now() >= late);
    RC_ASSERT(std::abs(then - early) <= 16); // each transfer may end a nanosecond later
}

} // namespace
} // namespace weft::engine
