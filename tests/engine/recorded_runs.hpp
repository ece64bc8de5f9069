#pragma once

#include <weft/weft.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/support.hpp"
#include "engine/threads/thread_engine.hpp"
#include "policy/recording.hpp"

/// Random programs under a policy, in either engine, and a recording of what the policy was told.
namespace weft::test {

// ---- programs

/// Takes about `ns` nanoseconds in either engine.
inline void take_ns(std::uint64_t ns) {
    cost(ns);
    std::atomic<std::uint64_t> turns{0};
    for (std::uint64_t i = 0; i < ns; i += 8) turns.fetch_add(1, std::memory_order_relaxed);
}

inline constexpr int deepest = thread_sanitized ? 4 : 5;

/// A random program: what it does and returns depends on the seed alone.
inline std::uint64_t play(std::uint64_t drawn_by, int depth = deepest) {
    std::mt19937_64 random(drawn_by);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    take_ns(below(3000));
    if (depth == 0 || (depth < deepest && below(8) == 0)) return random();
    std::vector<std::uint64_t> seeds(2 + below(3)), results(seeds.size());
    for (auto& s : seeds) s = random();
    const auto child = [&, depth](std::size_t i) { results[i] = play(seeds[i], depth - 1); };
    switch (below(7)) {
    case 0: join([&] { child(0); }, [&] { child(seeds.size() - 1); }); break;
    case 1: parallel_for(std::size_t{0}, seeds.size(), child, {.grain = 1}); break;
    case 2: {
        std::vector<future<std::uint64_t>> to_come;
        for (const auto s : seeds) to_come.push_back(async([=] { return play(s, depth - 1); }));
        for (std::size_t i = seeds.size(); i-- > 0;) results[i] = to_come[i].get();
        break;
    }
    case 3: { // the lock is held across a yield
        mutex m;
        task_group g;
        for (std::size_t i = 0; i < seeds.size(); ++i)
            g.run([&, i] {
                child(i);
                const std::lock_guard lock(m);
                take_ns(100);
                this_task::yield();
            });
        g.wait();
        break;
    }
    case 4:
        this_task::sleep_for(std::chrono::microseconds(below(30)));
        child(0);
        break;
    default: {
        task_group g(hints{.work = static_cast<double>(seeds.size())});
        for (std::size_t i = 0; i < seeds.size(); ++i)
            g.run([&, i] { child(i); }, hints{.work = 1, .name = "child", .priority = static_cast<int>(i)});
        g.wait();
    }
    }
    std::uint64_t sum = drawn_by;
    for (const auto r : results) sum += r;
    return sum;
}

inline void play_twice(std::uint64_t drawn_by) {
    for (const int k : {0, 1}) {
        iteration(k);
        play(drawn_by);
    }
}

// ---- runs

inline const machine four_cores =
    cores{.packages = 2, .cores_per_domain = 2, .cost = runtime_cost::usual}.build();
inline const machine sixteen_cores =
    cores{.packages = 2, .domains_per_package = 2, .cores_per_domain = 4, .cost = runtime_cost::usual}
        .build();

/// As four_cores, but the last two are slower: policies that know groups of equal cores have two.
inline const machine unequal_cores = [] {
    machine_parts parts = four_cores.parts();
    parts.core_classes.push_back({.name = "slow", .speed = 0.4});
    for (int slow : {2, 3}) parts.cores[static_cast<std::size_t>(slow)].core_class = 1;
    return machine(std::move(parts));
}();

inline recording record_in_model(std::unique_ptr<policy> p, const machine& on, std::uint64_t of) {
    recording list;
    modelled m(std::make_unique<recorder>(std::move(p), list), on, of, 5'000);
    m.run([&] { play_twice(of); });
    m.engine.wait_until_quiescent();
    return list;
}

/// On a machine of four cores.
inline recording record_in_threads(std::unique_ptr<policy> p, std::uint64_t of,
                                   const machine& on = four_cores) {
    recording list;
    {
        engine::thread_engine e(std::make_unique<recorder>(std::move(p), list), on,
                                {.workers = on.size(), .seed = of});
        for (const int active : {4, 2, 4}) {
            e.set_active(active);
            auto root = [&] { play_twice(of); };
            engine::run_root(e, {[](void* f) { (*static_cast<decltype(root)*>(f))(); }, &root});
        }
    }
    return list;
}

/// The number of programs that a test plays.
inline std::uint64_t programs() { return static_cast<std::uint64_t>(rounds(sanitized ? 1 : 4)); }

} // namespace weft::test
