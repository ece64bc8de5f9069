// The models of data: names of blocks, caches against a plain reference, memory nodes and coherence by hand.
#include "engine/model/numa_memory.hpp"
#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace weft::engine {
namespace {

struct met {
    block_id block;
    bool fresh;
    std::size_t first, last;
    bool operator==(const met&) const = default;
};
using blocks = std::vector<met>;

blocks touched(data_names& names, std::size_t first, std::size_t bytes) {
    blocks seen;
    // Addresses are numbers here: nothing is read.
    names.for_each_block(reinterpret_cast<const void*>(first), bytes,
                         [&](block_id b, bool fresh, std::size_t from, std::size_t to) {
                             seen.push_back({b, fresh, from, to});
                         });
    return seen;
}

TEST(data_names, are_given_in_the_order_of_first_touches) {
    data_names names(100);
    EXPECT_EQ(touched(names, 1000, 250), (blocks{{0, true, 0, 100}, {1, true, 0, 100}, {2, true, 0, 50}}));
    EXPECT_EQ(touched(names, 5000, 1), (blocks{{3, true, 0, 1}}));
    EXPECT_EQ(touched(names, 1100, 1), (blocks{{1, false, 0, 1}}));
    EXPECT_EQ(touched(names, 1199, 2), (blocks{{1, false, 99, 100}, {2, false, 0, 1}}));
    EXPECT_EQ(touched(names, 1000, 0), blocks{});
}

TEST(data_names, what_lies_between_known_pieces_is_named_anew) {
    data_names names(100);
    touched(names, 1000, 100);
    touched(names, 1300, 100);
    EXPECT_EQ(touched(names, 950, 500), (blocks{{2, true, 0, 50},
                                                {0, false, 0, 100},
                                                {3, true, 0, 100},
                                                {4, true, 0, 100},
                                                {1, false, 0, 100},
                                                {5, true, 0, 50}}));
}

TEST(data_names, do_not_depend_on_where_data_lie) {
    const auto run = [](std::size_t base) {
        data_names names(4096);
        std::mt19937 random(7);
        std::vector<blocks> all;
        for (int i = 0; i < 500; ++i) {
            const std::size_t first = base + random() % 100'000, bytes = random() % 20'000;
            all.push_back(touched(names, first, bytes));
        }
        return all;
    };
    EXPECT_EQ(run(1 << 20), run((1 << 24) + 12345));
}

// Names as one would give them first: the block of each byte.
class plain_names {
public:
    blocks touch(std::size_t first, std::size_t bytes) {
        std::vector<bool> fresh(bytes);
        for (std::size_t i = 0, run = 0; i < bytes; ++i) { // a run of bytes that have no name begins a block
            if (of_[first + i].named) {
                run = 0;
                continue;
            }
            if (run++ % 100 == 0) base_.push_back(first + i);
            of_[first + i] = {true, static_cast<block_id>(base_.size() - 1)};
            fresh[i] = true;
        }
        blocks seen;
        for (std::size_t i = 0; i < bytes; ++i) {
            const block_id b = of_[first + i].block;
            const std::size_t at = first + i - base_[b];
            if (i > 0 && seen.back().block == b)
                seen.back().last = at + 1;
            else
                seen.push_back({b, fresh[i], at, at + 1});
        }
        return seen;
    }

private:
    struct byte {
        bool named = false;
        block_id block = 0;
    };
    std::vector<byte> of_ = std::vector<byte>(12'000);
    std::vector<std::size_t> base_;
};

TEST(data_names, are_the_same_in_whatever_order_the_pieces_are_touched_again) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        data_names names(100);
        plain_names plain;
        std::vector<std::pair<std::size_t, std::size_t>> ranges;
        for (int i = 0; i < 40; ++i) ranges.emplace_back(1000 + random() % 10'000, random() % 400);
        for (int i = 0; i < 2000; ++i) { // mostly in the same order, from a random place on
            static constexpr int steps = 20;
            const std::size_t from = random() % ranges.size();
            for (std::size_t k = 0; k < random() % steps; ++k) {
                const auto& [first, bytes] = ranges[(from + k) % ranges.size()];
                ASSERT_EQ(touched(names, first, bytes), plain.touch(first, bytes)) << "seed " << seed;
            }
        }
    }
}

// A cache as one would write it first: a list of blocks with their sectors.
class plain_cache {
public:
    explicit plain_cache(int capacity) : capacity_(capacity) {}

    sectors use(block_id b) {
        for (std::size_t i = 0; i < held_.size(); ++i) {
            if (held_[i].first != b) continue;
            const auto found = held_[i];
            held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
            held_.push_front(found);
            return found.second;
        }
        return 0;
    }
    std::vector<block_id> insert(block_id b, sectors s) {
        if (use(b))
            held_.front().second |= s;
        else
            held_.emplace_front(b, s);
        std::vector<block_id> gone;
        while (size() > capacity_) {
            gone.push_back(held_.back().first);
            held_.pop_back();
        }
        return gone;
    }
    void erase(block_id b, sectors s) {
        for (auto& h : held_)
            if (h.first == b) h.second &= ~s;
        std::erase_if(held_, [](const auto& h) { return h.second == 0; });
    }
    int size() const {
        int all = 0;
        for (const auto& h : held_) all += count(h.second);
        return all;
    }

private:
    int capacity_;
    std::deque<std::pair<block_id, sectors>> held_;
};

TEST(modelled_cache, does_what_a_plain_list_does) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937_64 random(seed);
        const int capacity = seed % 4 == 0 ? 20 : 200; // less than a block, too
        modelled_cache cache(capacity, replacement::lru, 1);
        plain_cache plain(capacity);
        for (int i = 0; i < 5000; ++i) {
            const auto b = static_cast<block_id>(random() % 30);
            const sectors s = random() & random();
            if (random() % 10 == 0) {
                const bool had = cache.find(b) != 0;
                const bool gone = cache.erase(b, s);
                plain.erase(b, s);
                ASSERT_EQ(gone, had && cache.find(b) == 0) << "seed " << seed;
                continue;
            }
            const sectors there = cache.use(b);
            ASSERT_EQ(there, plain.use(b)) << "seed " << seed;
            if (!(s & ~there)) continue;
            std::vector<block_id> gone;
            const bool fresh = cache.insert(b, s & ~there, [&](block_id g) { gone.push_back(g); });
            ASSERT_EQ(fresh, there == 0 && cache.find(b) != 0) << "seed " << seed;
            auto expected = plain.insert(b, s);
            if (there == 0) std::erase(expected, b); // it was never in
            ASSERT_EQ(gone, expected) << "seed " << seed;
            ASSERT_EQ(cache.size(), plain.size());
            ASSERT_LE(cache.size(), capacity);
        }
    }
}

// A loop over `of` blocks through a cache of `places`: the part of a round that it finds, after some
// rounds.
double found_in_a_loop(int places, int of, replacement rule, std::uint32_t seed) {
    constexpr sectors whole = 1;
    modelled_cache cache(places, rule, seed);
    constexpr int rounds = 60, first_counted = 20;
    int found = 0;
    for (int round = 0; round < rounds; ++round)
        for (int b = 0; b < of; ++b)
            if (cache.use(static_cast<block_id>(b)))
                found += round >= first_counted;
            else
                cache.insert(static_cast<block_id>(b), whole, [](block_id) {});
    return found / static_cast<double>(of * (rounds - first_counted));
}

TEST(modelled_cache, at_random_a_loop_over_more_than_it_holds_finds_a_part) {
    for (const double times : {1.25, 2.0, 3.0}) {
        // Of n places, a block outlives the m misses of a round with (1 - 1/n)^m: h = exp(-(1 - h) times).
        double expected = 0;
        for (int i = 0; i < 1000; ++i) expected = std::exp(-(1 - expected) * times);
        const int some = static_cast<int>(400 * times);
        for (std::uint32_t seed = 1; seed <= 3; ++seed)
            EXPECT_NEAR(found_in_a_loop(400, some, replacement::random, seed), expected, .02)
                << times << " times its size, seed " << seed;
        EXPECT_EQ(found_in_a_loop(400, some, replacement::lru, 1), 0);
    }
    EXPECT_EQ(found_in_a_loop(400, 400, replacement::random, 1), 1) << "nothing leaves while there is room";
}

TEST(modelled_cache, what_came_last_stays_while_there_is_anything_else) {
    for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        modelled_cache cache(4, replacement::random, seed);
        for (block_id b = 0; b < 100; ++b) {
            cache.insert(b, 1, [](block_id) {});
            ASSERT_EQ(cache.find(b), 1U) << "seed " << seed;
        }
        const auto oldest = [&] {
            for (block_id b = 0;; ++b)
                if (cache.find(b)) return b;
        }();
        cache.insert(oldest, 2, [](block_id) {});
        ASSERT_EQ(cache.find(oldest), 3U) << "seed " << seed;
    }
}

// Two packages of two cores; L1 2 KiB and L2 8 KiB a core, L3 32 KiB a package; blocks of 1 KiB.
machine two_by_two(const std::string& more = "") {
    return parse_toml(R"(
name = "2x2"
[[core_class]]
name = "c"
frequency_mhz = 1000
[regular]
packages = 2
cores_per_domain = 2
[[memory_node]]
count = 2
latency_ns = 100
bandwidth_gbps = 10
[distance]
remote = 20
[[cache]]
level = 1
bytes = "2 KiB"
latency_ns = 1
[[cache]]
level = 2
bytes = "8 KiB"
latency_ns = 10
bandwidth_gbps = 64
[[cache]]
level = 3
bytes = "32 KiB"
shared_by = "domain"
latency_ns = 40
bandwidth_gbps = 32
)" + more + "[model]\nblock_bytes = 1024\n",
                      "test");
}

constexpr std::size_t k = 1024;

const void* at(std::size_t address) { return reinterpret_cast<const void*>(address); }

TEST(numa_memory, a_block_comes_from_where_it_lies) {
    const machine m = two_by_two();
    numa_memory data(m);
    const auto cost = [&](int rank, std::size_t address, bool writes = false) {
        transfer t;
        data.touch(rank, at(address), k, writes ? access::write : access::read, t);
        return std::pair(t.private_ns(), t.shared_ns());
    };
    // 10 lines of 64 bytes in flight: 1024 bytes take 160 ns from near memory, 320 from the other node's.
    EXPECT_EQ(cost(0, 8 * k), std::pair(0.0, 100.0 + 160));
    EXPECT_EQ(cost(0, 8 * k), std::pair(0.0, 0.0)); // the first level costs nothing
    for (std::size_t i = 9; i < 11; ++i) cost(0, i * k);
    EXPECT_EQ(cost(0, 8 * k), std::pair(10.0 + 16, 0.0));
    for (std::size_t i = 11; i < 20; ++i) cost(0, i * k);
    EXPECT_EQ(cost(0, 8 * k), std::pair(0.0, 40.0 + 32));
    EXPECT_EQ(cost(1, 19 * k), std::pair(0.0, 40.0 + 32)) << "the neighbour finds it in the cache they share";
    EXPECT_EQ(cost(2, 19 * k), std::pair(0.0, 200.0 + 320))
        << "it is at home at the worker that touched it first";
    EXPECT_EQ(data.of_node(0).remote, k);
    EXPECT_EQ(data.of_node(1).local + data.of_node(1).remote, 0U);
    EXPECT_EQ(data.of_worker(2).memory.remote, k);
    EXPECT_EQ(data.of_worker(2).levels[2].misses, k / 64);
}

TEST(numa_memory, what_is_touched_together_waits_for_one_latency) {
    const machine m = two_by_two();
    numa_memory data(m);
    transfer t;
    data.touch(0, at(0), 64, access::read, t);
    data.touch(0, at(100 * k), 3 * k, access::read, t);
    EXPECT_EQ(std::pair(t.private_ns(), t.shared_ns()), std::pair(0.0, 100 + 10 + 3 * 160.0));
    // With all of it in the second level, and one line that comes from memory.
    for (std::size_t i = 200; i < 202; ++i) data.touch(0, at(i * k), k, access::read, t);
    t.clear();
    data.touch(0, at(100 * k), 2 * k, access::read, t);
    EXPECT_EQ(std::pair(t.private_ns(), t.shared_ns()), std::pair(10 + 2 * 16.0, 0.0));
    data.touch(0, at(300 * k), 64, access::read, t);
    EXPECT_EQ(std::pair(t.private_ns(), t.shared_ns()), std::pair(2 * 16.0, 100.0 + 10));
}

TEST(numa_memory, a_write_takes_the_block_out_of_all_other_caches) {
    const machine m = two_by_two();
    numa_memory data(m);
    transfer t;
    for (int rank = 0; rank < 4; ++rank) data.touch(rank, at(k), k, access::read, t);
    data.touch(0, at(k), k, access::write, t);
    EXPECT_EQ(data.invalidations(), 7U)
        << "two levels of ranks 1, 2 and 3 each, and the one that 2 and 3 share";
    t.clear();
    data.touch(0, at(k), k, access::read, t);
    EXPECT_TRUE(t.empty());
    data.touch(1, at(k), k, access::read, t);
    EXPECT_EQ(t.shared_ns(), 40.0 + 32);
    t.clear();
    data.touch(3, at(k), k, access::read, t);
    EXPECT_EQ(t.shared_ns(), 200.0 + 320);
}

TEST(numa_memory, what_was_written_comes_from_the_cache_that_has_it) {
    const machine m = two_by_two();
    numa_memory data(m);
    transfer t;
    data.bind(at(k), k, 0);
    data.touch(2, at(k), k, access::write, t);
    t.clear();
    data.touch(3, at(k), k, access::read, t);
    EXPECT_EQ(t.shared_ns(), 40.0 + 32) << "under the common cache";
    t.clear();
    data.touch(0, at(k), k, access::read, t);
    EXPECT_EQ(t.shared_ns(), 200.0 + 320) << "its home is near, but the cache is far";
    EXPECT_EQ(data.of_node(1).forwarded, k);
    EXPECT_EQ(data.of_worker(0).memory.forwarded, k);
    EXPECT_EQ(data.of_node(0).local, k) << "memory was read, too";
    EXPECT_EQ(data.of_node(1).local + data.of_node(1).remote, 0U);
    // What was only read comes from memory.
    t.clear();
    data.bind(at(2 * k), k, 0);
    data.touch(2, at(2 * k), k, access::read, t);
    t.clear();
    data.touch(0, at(2 * k), k, access::read, t);
    EXPECT_EQ(t.shared_ns(), 100.0 + 160);
    EXPECT_EQ(data.of_node(1).forwarded, k);
}

TEST(numa_memory, what_a_neighbour_has_written_and_the_common_cache_has_not_costs_a_hit_there) {
    const machine m = two_by_two();
    numa_memory data(m);
    transfer t;
    data.touch(1, at(k), k, access::write, t);
    for (std::size_t i = 100; i < 140; ++i)
        data.touch(0, at(i * k), k, access::read, t); // more than that cache
    t.clear();
    data.touch(0, at(k), k, access::read, t);
    EXPECT_EQ(t.shared_ns(), 40.0 + 32);
    EXPECT_EQ(data.of_node(0).forwarded, k);
}

TEST(numa_memory, a_link_is_used_in_the_direction_of_the_data) {
    const machine m = two_by_two();
    numa_memory data(m);
    data.bind(at(0), 100 * k, 0);
    const auto links = [&](int rank, std::size_t block, bool writes) {
        transfer t;
        data.touch(rank, at(block * k), k, writes ? access::write : access::read, t);
        std::vector<int> used;
        for (const auto& u : t.uses)
            if (u.resource == 2 || u.resource == 3) used.push_back(u.resource); // the nodes come first
        return used;
    };
    EXPECT_EQ(links(0, 1, true), std::vector<int>{}) << "from near memory";
    EXPECT_EQ(links(2, 1, false), std::vector{3}) << "from the other node's cache";
    EXPECT_EQ(links(2, 2, true), std::vector{3}) << "from the other node's memory";
    std::vector<int> back;
    for (std::size_t i = 10; i < 60 && back.size() < 2; ++i) back = links(2, i, false);
    EXPECT_EQ(back, (std::vector{3, 2})) << "and what was written goes the other way";
}

// Four nodes of one core each in a square of links: 0 - 1, 0 - 2, 1 - 3, 2 - 3; no caches, so that all data move.
machine square(const std::string& more = "") {
    return parse_toml(R"(
name = "square"
[[core_class]]
name = "c"
frequency_mhz = 1000
[regular]
packages = 4
cores_per_domain = 1
[[memory_node]]
count = 4
latency_ns = 100
bandwidth_gbps = 100
[distance]
remote_bandwidth_gbps = 4
remote_latency_ns = 200
routes = [[0, 1, 3], [3, 2, 0], [1, 0, 2], [2, 3, 1]]
)" + more + "[model]\nblock_bytes = 1024\n",
                      "test");
}

using used = std::vector<std::pair<int, double>>;

// The links that a touch uses, with the bytes on each. The nodes are resources 0 to 3.
used links_of(numa_memory& data, int rank, std::size_t block) {
    transfer t;
    data.touch(rank, at(block * k), k, access::read, t);
    used links;
    for (const auto& u : t.uses)
        if (u.resource >= 4) links.emplace_back(u.resource, u.bytes);
    return links;
}

TEST(numa_memory, data_across_a_square_take_two_links_that_neighbours_use_too) {
    const machine m = square();
    numa_memory data(m);
    for (int node = 0; node < 4; ++node) data.bind(at(100 * k * index(node + 1)), 100 * k, node);
    EXPECT_EQ(data.capacities().size(), 4U + 8U) << "no link joins the corners";
    const auto link = [&](int core, int home, std::size_t block) {
        return links_of(data, core, 100 * index(home + 1) + block);
    };
    const used one_to_three = link(3, 1, 0), zero_to_one = link(1, 0, 0), zero_to_three = link(3, 0, 1);
    ASSERT_EQ(one_to_three.size(), 1U);
    ASSERT_EQ(zero_to_one.size(), 1U);
    EXPECT_EQ(zero_to_three, (used{zero_to_one[0], one_to_three[0]})) << "by way of node 1";
    const used back = link(0, 3, 0);
    EXPECT_EQ(back, (used{link(2, 3, 1)[0], link(0, 2, 0)[0]})) << "by way of node 2";

    // Two transfers meet on the link from 1 to 3: each gets half of its 4 GB/s.
    shared_bandwidth links(data.capacities());
    const auto begin = [&](int owner, const used& of) {
        std::vector<shared_bandwidth::use> uses;
        for (const auto& [resource, bytes] : of) uses.push_back({resource, bytes});
        links.begin(owner, 0, 256, k, uses); // alone: 4 bytes a nanosecond
    };
    begin(0, zero_to_three);
    begin(1, one_to_three);
    EXPECT_DOUBLE_EQ(links.speed_of(0), 0.5);
    EXPECT_DOUBLE_EQ(links.speed_of(1), 0.5);
    begin(2, back); // the other way round is free
    EXPECT_DOUBLE_EQ(links.speed_of(2), 1);
}

TEST(numa_memory, requests_and_answers_take_both_directions_of_a_link) {
    const machine m = square("line_overhead_bytes = 16\n");
    numa_memory data(m);
    data.bind(at(0), 100 * k, 0);
    constexpr double lines = k / 64.0;
    const used near = links_of(data, 1, 0);
    ASSERT_EQ(near.size(), 2U);
    EXPECT_EQ(near[0].second, k + 16 * lines);
    EXPECT_EQ(near[1].second, 16 * lines);
    const used across = links_of(data, 3, 1);
    ASSERT_EQ(across.size(), 4U) << "there by way of node 1, and back by way of node 2";
    EXPECT_EQ(across[0].second + across[1].second, 2 * (k + 16 * lines));
    EXPECT_EQ(across[2].second + across[3].second, 2 * 16 * lines);
    EXPECT_EQ(links_of(data, 0, 2), used{}) << "near memory";
}

double wait_for(numa_memory& data, int rank, std::size_t address, std::size_t bytes, access how,
                double now = 1e6) {
    transfer t;
    data.touch(rank, at(address), bytes, how, t, now);
    return t.private_ns() + t.shared_ns();
}

TEST(numa_memory, a_chase_waits_for_each_line) {
    const machine m = two_by_two();
    numa_memory data(m);
    EXPECT_EQ(wait_for(data, 0, k, k, access::chase), 16 * 100.0);
    EXPECT_EQ(wait_for(data, 0, k, k, access::chase), 0) << "in the first level";
    for (std::size_t i = 2; i < 4; ++i) data.interleave(at(i * k), k);
    for (std::size_t i = 2; i < 4; ++i) wait_for(data, 0, i * k, k, access::read);
    EXPECT_EQ(wait_for(data, 0, k, k, access::chase), 16 * 10.0) << "in the second";
    EXPECT_EQ(wait_for(data, 1, k, k, access::chase), 16 * 40.0) << "in the third, for the neighbour";
    EXPECT_EQ(wait_for(data, 2, k, k, access::chase), 16 * 200.0) << "of the other package";
    EXPECT_EQ(data.invalidations(), 0U) << "it only reads";
}

TEST(numa_memory, an_atomic_operation_fetches_the_line_from_the_core_that_has_it) {
    const machine m = two_by_two();
    numa_memory data(m);
    constexpr double ms = 1e6; // apart, so that no core queues for a line
    wait_for(data, 0, k, 64, access::atomic, 1 * ms);
    EXPECT_EQ(wait_for(data, 0, k, 64, access::atomic, 2 * ms), 0) << "it has the line for itself";
    EXPECT_EQ(wait_for(data, 1, k, 64, access::atomic, 3 * ms), 40)
        << "from the neighbour, through the common cache";
    EXPECT_EQ(wait_for(data, 2, k, 64, access::atomic, 4 * ms), 200) << "from the other package";
    EXPECT_EQ(wait_for(data, 0, k, 64, access::atomic, 5 * ms), 200) << "and back";
    EXPECT_EQ(wait_for(data, 0, k, 64, access::read), 0);
    EXPECT_GT(data.invalidations(), 0U);
    // One line after another, not ten at a time.
    wait_for(data, 2, 2 * k, 256, access::atomic, 6 * ms);
    EXPECT_EQ(wait_for(data, 0, 2 * k, 256, access::atomic, 7 * ms), 4 * 200.0);
}

TEST(numa_memory, atomic_operations_on_one_line_queue_for_it) {
    const machine m = two_by_two();
    numa_memory data(m);
    EXPECT_EQ(wait_for(data, 0, k, 64, access::atomic, 0), 100) << "from memory";
    EXPECT_EQ(wait_for(data, 2, k, 64, access::atomic, 0), 100 + 200) << "after that it comes over";
    EXPECT_EQ(wait_for(data, 1, k, 64, access::atomic, 50), 250 + 200) << "when it is free again, at 300";
    EXPECT_EQ(wait_for(data, 0, 2 * k, 64, access::atomic, 50), 100) << "another line does not queue";
    EXPECT_EQ(wait_for(data, 0, k, 64, access::atomic, 1000), 40) << "free since 500";
    EXPECT_EQ(wait_for(data, 1, k, 64, access::read, 1000), 40 + 2) << "a load does not queue";
}

TEST(numa_memory, an_atomic_operation_takes_a_line_that_others_have_read_away_from_them) {
    const machine m = two_by_two();
    numa_memory data(m);
    constexpr double ms = 1e6;
    for (const int rank : {0, 1}) wait_for(data, rank, k, 64, access::read);
    EXPECT_EQ(wait_for(data, 0, k, 64, access::write), 0) << "a store does not wait";
    wait_for(data, 1, k, 64, access::read);
    EXPECT_EQ(wait_for(data, 0, k, 64, access::atomic, 1 * ms), 40) << "the neighbour has it";
    EXPECT_EQ(wait_for(data, 0, k, 64, access::atomic, 2 * ms), 0);
    for (const int rank : {1, 3}) wait_for(data, rank, k, 64, access::read);
    EXPECT_EQ(wait_for(data, 0, k, 64, access::atomic, 3 * ms), 200) << "the farthest has it";
}

TEST(numa_memory, what_was_written_goes_home_when_it_leaves_the_last_cache) {
    const machine m = two_by_two();
    numa_memory data(m);
    transfer t;
    data.touch(0, at(k), k, access::write, t);
    for (std::size_t i = 100; i < 140; ++i) data.touch(0, at(i * k), k, access::read, t);
    EXPECT_EQ(data.of_node(0).local, 42 * k) << "41 fetched, one written back";
    data.touch(0, at(k), k, access::read, t);
    for (std::size_t i = 200; i < 240; ++i) data.touch(0, at(i * k), k, access::read, t);
    EXPECT_EQ(data.of_node(0).local, 83 * k) << "read only, the second time";
}

TEST(numa_memory, only_what_is_touched_of_a_block_moves) {
    const machine m = two_by_two();
    numa_memory data(m);
    transfer t;
    data.interleave(at(0x1000), 4 * k); // names whole blocks, and moves nothing
    EXPECT_TRUE(t.empty());
    data.touch(0, at(0x1000 + 100), 100, access::read, t); // three lines of it
    EXPECT_EQ(data.of_node(0).local, 3 * 64U);
    EXPECT_EQ(t.shared_ns(), 100 + 3 * 64 * 100.0 / 640);
    t.clear();
    data.touch(0, at(0x1000), 256, access::read, t);
    EXPECT_EQ(data.of_node(0).local, 4 * 64U) << "the first line was not there";
    EXPECT_EQ(data.of_worker(0).levels[0].accesses, 7U);
    EXPECT_EQ(data.of_worker(0).levels[0].misses, 4U);
    // Another core writes a line that this one has, and one that it has not.
    t.clear();
    data.touch(2, at(0x1000), 64, access::write, t);
    data.touch(2, at(0x1000 + 512), 64, access::write, t);
    EXPECT_EQ(data.invalidations(), 3U)
        << "two private copies and the one of the domain, of the first line alone";
    t.clear();
    data.touch(0, at(0x1000 + 64), 192, access::read, t);
    EXPECT_TRUE(t.empty());
}

TEST(numa_memory, homes_that_the_program_asked_for) {
    const machine m = two_by_two();
    numa_memory data(m);
    transfer t;
    data.bind(at(k), 4 * k, 1);
    data.interleave(at(100 * k), 4 * k);
    data.touch(0, at(k), 4 * k, access::read, t);
    EXPECT_EQ(data.of_node(1).remote, 4 * k);
    data.touch(0, at(100 * k), 4 * k, access::read, t);
    EXPECT_EQ(data.of_node(0).local, 2 * k);
    EXPECT_EQ(data.of_node(1).remote, 6 * k);
}

TEST(numa_memory, an_inclusive_cache_takes_its_blocks_away_from_those_below) {
    for (const bool inclusive : {false, true}) {
        machine_parts parts = two_by_two().parts();
        for (cache& c : parts.caches) c.inclusive = inclusive && c.level == 3;
        const machine m(parts);
        numa_memory data(m);
        transfer t;
        data.touch(0, at(k), k, access::read, t);
        for (std::size_t i = 100; i < 132; ++i)
            data.touch(1, at(i * k), k, access::read, t); // fills the third level
        t.clear();
        data.touch(0, at(k), k, access::read, t);
        EXPECT_EQ(t.shared_ns() > 0, inclusive);
    }
}

TEST(numa_memory, what_the_machine_does_not_say_costs_nothing) {
    const machine m = load_machine("pack:2 [numa] l3:1 core:2 pu:1");
    numa_memory data(m);
    transfer t;
    data.touch(3, at(k), 1000 * k, access::write, t);
    EXPECT_EQ(t.shared_ns() + t.private_ns(), 0);
}

} // namespace
} // namespace weft::engine
