// ctest: tsan_cases=*on_threads*:laws_sized.gets* asan_cases=-laws_heat.*:*in_the_model*:*a_leaf*
//
// The policies laws and laws-nc under iterative programs: tasks stay on their sockets, what waits for each
// other gets on, and heat on the machine of the paper is faster than under random stealing.
#include "../../examples/heat2d/heat2d.hpp"

#include "engine/recorded_runs.hpp"
#include "engine/support.hpp"
#include "policy/seam/registry.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <atomic>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {
namespace {

using namespace test;

class iterated : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(all, iterated,
                         // Random programs only compute: with cmpi they are packed, too.
                         testing::Values("laws", "laws:cmpi=0", "laws:cmpi=0,tasks=64",
                                         "laws:cmpi=0,tune=off,cache=1", "laws:cmpi=0,margin=10",
                                         "laws:cmpi=0,order=near,keep=on", "laws-nc:pieces=8",
                                         "laws:zone=reported", "laws:cmpi=0,zone=reported", "laws-nc",
                                         "laws-nc:zone=reported"),
                         [](const auto& of) {
                             std::string name = of.param;
                             for (char& c : name)
                                 if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                             return name;
                         });

/// The same program again and again, and others between them.
std::uint64_t play_often(std::uint64_t program, int iterations) {
    std::uint64_t sum = 0;
    for (int k = 0; k < iterations; ++k) {
        iteration(k);
        sum += play(k % 5 == 4 ? program + static_cast<std::uint64_t>(k) : program);
    }
    return sum;
}

TEST_P(iterated, gets_what_plain_code_gets_in_the_model) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    WEFT_SEEDED;
    std::vector<machine> list;
    for (const auto& [packages, cores_each] :
         std::vector<std::pair<int, int>>{{1, 1}, {1, 4}, {2, 1}, {2, 2}, {4, 4}, {3, 5}})
        list.push_back(
            test::cores{.packages = packages, .cores_per_domain = cores_each, .cost = runtime_cost::usual}
                .build());
    std::uint64_t program = seed;
    for (const machine& on : list) {
        SCOPED_TRACE(on.size());
        modelled model(make_policy(GetParam()), on, program, 1000);
        modelled plain(make_policy("serial"), on, program, 1000);
        for (int i = 0; i < (sanitized ? 2 : 5); ++i, ++program) {
            std::uint64_t got = 0, right = 0;
            model.run([&] { got = play_often(program, 10); });
            plain.run([&] { right = play_often(program, 10); });
            ASSERT_EQ(got, right) << "program " << program;
        }
    }
}

TEST_P(iterated, several_roots_at_a_time_on_threads) {
    WEFT_SEEDED;
    engine::thread_engine e(make_policy(GetParam()), sixteen_cores, {.workers = 6, .seed = seed});
    const auto run = [&](auto&& body) {
        engine::run_root(
            e, {[](void* f) { (*static_cast<std::remove_reference_t<decltype(body)>*>(f))(); }, &body});
    };
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (std::uint64_t c = 0; c < 3; ++c)
        callers.emplace_back([&, c] {
            for (std::uint64_t i = 0; i < (sanitized ? 1 : 3); ++i) {
                std::uint64_t first = 0, second = 0;
                run([&] { first = play_often(seed + c, 6); });
                run([&] { second = play_often(seed + c, 6); });
                wrong += first != second;
            }
        });
    for (auto& c : callers) c.join();
    EXPECT_EQ(wrong.load(), 0);
}

/// Leaves of a binary tree over an array, each of which says where its data lie.
struct tree {
    static constexpr std::size_t leaves = 64, bytes_each = std::size_t{64} << 10;
    std::vector<std::byte> data = std::vector<std::byte>(leaves * bytes_each);

    template <class Leaf>
    void divide(std::size_t from, std::size_t to, const Leaf& leaf) const {
        if (to - from == 1) {
            touch(data.data() + from * bytes_each, bytes_each, access::readwrite);
            cost(10'000);
            return leaf(from);
        }
        const std::size_t middle = from + (to - from) / 2;
        join([&, from, middle] { divide(from, middle, leaf); }, [&, middle, to] { divide(middle, to, leaf); },
             {hint(from, middle), hint(middle, to)});
    }
    hints hint(std::size_t from, std::size_t to) const {
        return {.bytes = (to - from) * bytes_each,
                .children = 2,
                .data_begin = data.data() + from * bytes_each,
                .data_end = data.data() + to * bytes_each};
    }
};

TEST_P(iterated, a_leaf_is_where_its_data_are) {
    const machine on = test::cores{.packages = 4, .cores_per_domain = 4, .cost = runtime_cost::usual}.build();
    tree t;
    modelled model(make_policy(GetParam()), on, 1);
    std::vector<std::vector<int>> socket(10, std::vector<int>(tree::leaves));
    model.run([&] {
        for (int k = 0; k < 10; ++k) {
            iteration(k);
            t.divide(0, tree::leaves, [&](std::size_t leaf) {
                socket[static_cast<std::size_t>(k)][leaf] = on.package_of(this_task::worker());
            });
        }
    });
    int elsewhere = 0;
    for (std::size_t k = 0; k < 10; ++k)
        for (std::size_t leaf = 0; leaf < tree::leaves; ++leaf) {
            const int own = static_cast<int>(leaf / (tree::leaves / 4));
            if (k == 0)
                EXPECT_EQ(socket[k][leaf], own) << leaf;
            else
                elsewhere += socket[k][leaf] != own;
        }
    EXPECT_LT(elsewhere, 9 * 64 / 5); // a steal now and then
}

TEST_P(iterated, a_leaf_may_wait_for_one_of_another_subtree_by_yielding) {
    const machine on = test::cores{.packages = 2, .cores_per_domain = 2, .cost = runtime_cost::usual}.build();
    tree t;
    modelled model(make_policy(GetParam()), on, 1);
    for (const bool forward : {true, false}) {
        int done = 0;
        model.run([&] {
            for (int k = 0; k < 6; ++k) {
                iteration(k);
                std::vector<std::atomic<bool>> over(tree::leaves);
                t.divide(0, tree::leaves, [&](std::size_t leaf) {
                    const std::size_t other = tree::leaves - 1 - leaf; // on another socket
                    if (forward == (leaf < other))
                        while (!over[other].load()) this_task::yield();
                    over[leaf].store(true);
                });
                ++done;
            }
        });
        EXPECT_EQ(done, 6);
    }
}

TEST_P(iterated, a_leaf_may_wait_for_one_of_another_subtree_blocked) {
    const machine on = test::cores{.packages = 2, .cores_per_domain = 2, .cost = runtime_cost::usual}.build();
    tree t;
    modelled model(make_policy(GetParam()), on, 1);
    for (const bool forward : {true, false}) {
        int done = 0;
        model.run([&] {
            for (int k = 0; k < 6; ++k) {
                iteration(k);
                std::deque<latch> over;
                for (std::size_t i = 0; i < tree::leaves; ++i) over.emplace_back(1);
                t.divide(0, tree::leaves, [&](std::size_t leaf) {
                    const std::size_t other = tree::leaves - 1 - leaf;
                    if (forward == (leaf < other)) over[other].wait();
                    over[leaf].count_down();
                });
                ++done;
            }
        });
        EXPECT_EQ(done, 6);
    }
}

// ---- 4.7: the initialisation phase

/// The root that declares that it writes the data is strict, as a first iteration is; another one is not.
TEST(laws_initialisation, spreads_the_data_if_it_is_declared) {
    const machine on = test::cores{.packages = 4, .cores_per_domain = 4, .cost = runtime_cost::usual}.build();
    const tree t;
    for (const char* spec : {"laws", "laws:zone=reported", "laws-nc"})
        for (const bool declares : {true, false}) {
            modelled model(spec, on);
            int elsewhere = 0;
            model.run([&] {
                if (declares) initialisation();
                t.divide(0, tree::leaves, [&](std::size_t leaf) {
                    elsewhere +=
                        on.package_of(this_task::worker()) != static_cast<int>(leaf / (tree::leaves / 4));
                });
            });
            EXPECT_EQ(elsewhere == 0, declares) << spec;
        }
}

TEST(laws_initialisation, is_no_iteration) {
    for (const char* spec : {"laws", "cab:mode=profile", "constrained", "adws", "steal"}) {
        const machine on = test::cores{.packages = 2, .cores_per_domain = 2}.build();
        const tree t;
        modelled model(spec, on);
        std::atomic<std::size_t> sum = 0;
        model.run([&] {
            initialisation();
            t.divide(0, tree::leaves, [&](std::size_t leaf) { sum += leaf; });
            for (int k = 0; k < 3; ++k) {
                iteration(k);
                t.divide(0, tree::leaves, [&](std::size_t leaf) { sum += leaf; });
            }
        });
        EXPECT_EQ(sum.load(), 4 * tree::leaves * (tree::leaves - 1) / 2) << spec;
    }
}

// ---- Eq. 3.5: a program without iterations, whose size the caller gives

/// Eight of its 64 leaves fit the cache.
TEST(laws_sized, what_fits_the_cache_is_on_one_socket) {
    const machine on = test::cores{.packages = 4, .cores_per_domain = 4, .cost = runtime_cost::usual}.build();
    const tree t;
    for (const char* spec : {"laws:bytes=4194304,cache=512", "laws:bytes=4194304,cache=512,zone=reported"}) {
        modelled model(spec, on);
        for (int run = 0; run < 3; ++run) {
            std::vector<int> socket(tree::leaves), used(4);
            model.run([&] {
                t.divide(0, tree::leaves,
                         [&](std::size_t leaf) { socket[leaf] = on.package_of(this_task::worker()); });
            });
            for (std::size_t leaf = 0; leaf < tree::leaves; ++leaf) {
                EXPECT_EQ(socket[leaf], socket[leaf / 8 * 8]) << spec << ' ' << leaf;
                ++used[static_cast<std::size_t>(socket[leaf])];
            }
            for (const int leaves : used) EXPECT_GE(leaves, 8) << spec; // of 16 a head may have taken half
        }
    }
}

TEST(laws_sized, gets_what_plain_code_gets) {
    WEFT_SEEDED;
    for (const char* spec : {"laws:bytes=1000000,cache=64", "laws:bytes=1000000,cache=64,zone=reported"}) {
        const machine on =
            test::cores{.packages = 3, .cores_per_domain = 2, .cost = runtime_cost::usual}.build();
        modelled model(make_policy(spec), on, seed, 1000), plain(make_policy("serial"), on, seed, 1000);
        engine::thread_engine threads(make_policy(spec), sixteen_cores, {.workers = 6, .seed = seed});
        for (std::uint64_t program = seed; program < seed + (sanitized ? 3 : 20); ++program) {
            std::uint64_t right = 0, in_model = 0, on_threads = 0;
            plain.run([&] { right = play(program); });
            model.run([&] { in_model = play(program); });
            auto root = [&] { on_threads = play(program); };
            engine::run_root(threads, {[](void* f) { (*static_cast<decltype(root)*>(f))(); }, &root});
            ASSERT_EQ(in_model, right) << spec << ", program " << program;
            ASSERT_EQ(on_threads, right) << spec << ", program " << program;
        }
    }
}

// ---- 4.10.5: what only computes

struct seen {
    int elsewhere = 0; ///< leaves of later iterations that were not on the socket of their data
    time_ns took = 0;  ///< all iterations
};

/// Eight iterations of a tree whose leaves miss 1024 lines in the first one. Those of the first quarter, all
/// of it the data of one socket, compute sixteen times as long as the others.
seen leaves_under(const std::string& policy, std::uint64_t cycles) {
    const machine on = test::cores{.packages = 4, .cores_per_domain = 4, .cost = runtime_cost::usual}.build();
    const tree t;
    modelled model(policy, on);
    seen s;
    s.took = model.run([&] {
        for (int k = 0; k < 8; ++k) {
            iteration(k);
            t.divide(0, tree::leaves, [&](std::size_t leaf) {
                const auto own = static_cast<int>(leaf / (tree::leaves / 4));
                s.elsewhere += k > 0 && on.package_of(this_task::worker()) != own;
                cost(own == 0 ? 16 * cycles : cycles);
            });
        }
    });
    return s;
}

constexpr int later_leaves = 7 * static_cast<int>(tree::leaves);

TEST(laws_cmpi, a_program_that_computes_is_stolen_at_random_after_its_first_iteration) {
    constexpr std::uint64_t cycles = 2'000'000; // a miss in 2000
    const seen at_random = leaves_under("steal", cycles), packed = leaves_under("laws:cmpi=0", cycles);
    for (const char* policy : {"laws", "laws:zone=reported"}) {
        const seen s = leaves_under(policy, cycles);
        std::cout << policy << ": elsewhere " << s.elsewhere << " of " << later_leaves << ", took " << s.took
                  << ", at random " << at_random.took << ", packed " << packed.took << '\n';
        EXPECT_GT(s.elsewhere, later_leaves / 2) << policy;               // three quarters would be chance
        EXPECT_LT(s.took - at_random.took, at_random.took / 3) << policy; // the first iteration
        EXPECT_LT(s.took, packed.took) << policy;
    }
}

TEST(laws_cmpi, a_program_that_waits_for_memory_stays_with_its_data) {
    constexpr std::uint64_t cycles = 20'000; // a miss in 20, or in 300
    const seen s = leaves_under("laws", cycles), without = leaves_under("laws:cmpi=0", cycles);
    EXPECT_LT(s.elsewhere, later_leaves / 4);
    EXPECT_EQ(s.elsewhere, without.elsewhere);
    EXPECT_EQ(s.took, without.took);
}

// ---- Table 4.5 and Fig. 4.10, their shape

struct outcome {
    double third_level_misses = 0, local = 0, remote = 0, seconds = 0;
};

outcome heat_under(const std::string& policy, std::size_t rows, std::size_t cols, std::size_t sweeps,
                   examples::task_tree shape) {
    constexpr std::size_t leaf_rows = 16;
    runtime_options o;
    o.engine = "model";
    o.machine = WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml";
    o.policy = policy;
    o.seed = 1;
    runtime rt(o);
    examples::grid a(rows, cols), b(rows, cols);
    rt.run([&] {
        initialisation();
        examples::heat_start(a, b, examples::heat_mode{}, leaf_rows, shape);
    });
    rt.run([&] { examples::heat(a, b, sweeps, leaf_rows, shape); });
    const auto report = nlohmann::json::parse(rt.report(report_format::json));
    outcome o2;
    for (const auto& n : report["memory_nodes"]) {
        o2.remote += n["remote_bytes"].get<double>();
        o2.local += n["local_bytes"].get<double>();
    }
    o2.third_level_misses = report["caches"][2]["misses"].get<double>();
    o2.seconds = report["seconds"].get<double>();
    return o2;
}

TEST(laws_heat, is_faster_than_random_stealing_and_nearer_to_its_data) {
    for (const auto shape : {examples::task_tree::regular, examples::task_tree::irregular}) {
        std::map<std::string, outcome> of;
        for (const char* policy : {"steal", "laws-nc", "laws"}) {
            of[policy] = heat_under(policy, 1024, 1024, 16, shape);
            const outcome& o = of[policy];
            std::cout << policy << ": misses " << o.third_level_misses << ", local " << o.local << ", remote "
                      << o.remote << ", seconds " << o.seconds << '\n';
        }
        EXPECT_LT(of["laws"].seconds, 0.9 * of["steal"].seconds);
        EXPECT_LT(of["laws-nc"].seconds, of["steal"].seconds);
        EXPECT_LT(of["laws"].third_level_misses, of["steal"].third_level_misses);
        EXPECT_LT(of["laws"].remote, of["steal"].remote / 3);
    }
}

} // namespace
} // namespace weft
