// One sample of a pipeline: its stages do work of a known length, or are those of examples/dedup. Each runtime says how it
// runs them, in `Runtime`:
//
//   Runtime(workers)
//   run_stages(kinds, tokens, first, stage, last)    3 or 5 stages; kinds<'s', 'p', ...>, s: serial in order, p: parallel
//   run_dedup(deduplicator, tokens)
//
//   kinds=sps us=1 workers=2 tokens=16     items: so many that the stages take 60 ms; also kinds=sppps, spsps, dedup
#pragma once

#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <common/random.hpp>
#include <dedup/dedup.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench::pipeline {

template <char... Kind>
struct kinds {
    static constexpr std::size_t count = sizeof...(Kind);
    static constexpr char at(std::size_t k) {
        constexpr char all[] = {Kind...};
        return all[k];
    }
};

struct item {
    std::uint64_t number, value;
};

/// What the stages do, in every runtime and serially. A step takes about 3.5 ns, the latency of three multiplications.
struct work {
    std::uint64_t items, steps;
    std::uint64_t made = 0, sum = 0, next = 0;
    bool in_order = true;

    std::optional<item> first() {
        if (made == items) return std::nullopt;
        const std::uint64_t n = made++;
        return item{n, examples::mixed(n, steps)};
    }
    void stage(item& i) const { i.value = examples::mixed(i.value, steps); }
    void last(const item& i) {
        in_order = in_order && i.number == next++;
        sum = sum * 31 + examples::mixed(i.value, steps);
    }
    bool operator==(const work&) const = default;
};

template <class Runtime, class Kinds>
void measure_stages(Runtime& with, Kinds kinds_of, const arguments& given, sample& s) {
    const double us = given.number("us", 1);
    const auto tokens = static_cast<std::size_t>(given.number("tokens", 16));
    constexpr double steps_per_us = 284;
    const auto items = static_cast<std::uint64_t>(given.number("ms", 60) * 1000 / (us * Kinds::count));
    const work fresh{.items = std::max<std::uint64_t>(items, 1),
                     .steps = static_cast<std::uint64_t>(us * steps_per_us)};
    work alone = fresh;
    const double serial_ns = best_ns(3, [&] {
        alone = fresh;
        while (auto i = alone.first()) {
            for (std::size_t k = 2; k < Kinds::count; ++k) alone.stage(*i);
            alone.last(*i);
        }
        keep(alone); // inside of the time
    });
    work together = fresh;
    const double ns = best_ns(5, [&] {
        together = fresh;
        with.run_stages(kinds_of, tokens, together);
        s.check(together == alone);
    });
    s.add("over", ns / serial_ns);
    s.add("ns_an_item", (ns - serial_ns) / static_cast<double>(fresh.items));
    s.add("serial_ms", serial_ns * 1e-6);
}

template <class Runtime>
void measure_dedup(Runtime& with, const arguments& given, sample& s) {
    const auto tokens = static_cast<std::size_t>(given.number("tokens", 16));
    const auto data =
        examples::make_input(static_cast<std::size_t>(given.number("mbytes", 4)) * 1'000'000, 0.4, 1);
    std::optional<examples::deduplicator> alone, together;
    const double serial_ns = best_ns(2, [&] { alone.emplace(data).run_serially(); });
    const double ns = best_ns(3, [&] { with.run_dedup(together.emplace(data), tokens); });
    s.check(together->result == alone->result);
    s.add("over", ns / serial_ns);
    s.add("serial_ms", serial_ns * 1e-6);
}

template <class Runtime>
int program(int argc, char** argv) {
    return take_sample(argc, argv, [](const arguments& given, sample& s) {
        const int workers = given.number("workers", 1);
        const std::string shape = given.text("kinds", "sps");
        const auto measure = [&] {
            Runtime with(workers);
            if (shape == "sps") return measure_stages(with, kinds<'s', 'p', 's'>(), given, s);
            if (shape == "sppps") return measure_stages(with, kinds<'s', 'p', 'p', 'p', 's'>(), given, s);
            if (shape == "spsps") return measure_stages(with, kinds<'s', 'p', 's', 'p', 's'>(), given, s);
            if (shape == "dedup") return measure_dedup(with, given, s);
            throw usage_error("kinds=" + shape + "; allowed: sps, sppps, spsps, dedup");
        };
        if (workers == 1)
            measure();
        else
            s.with_both_cores(measure);
    });
}

} // namespace bench::pipeline
