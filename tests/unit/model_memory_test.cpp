// The models of data: names of blocks, caches against a plain reference, memory nodes and coherence by hand.
#include "engine/model/numa_memory.hpp"
#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace weft::engine {
namespace {

using blocks = std::vector<std::pair<block_id, bool>>;

blocks touched(data_names& names, std::size_t first, std::size_t bytes) {
    blocks seen;
    // Addresses are numbers here: nothing is read.
    names.for_each_block(reinterpret_cast<const void*>(first), bytes,
                         [&](block_id b, bool fresh) { seen.emplace_back(b, fresh); });
    return seen;
}

TEST(data_names, are_given_in_the_order_of_first_touches) {
    data_names names(100);
    EXPECT_EQ(touched(names, 1000, 250), (blocks{{0, true}, {1, true}, {2, true}}));
    EXPECT_EQ(touched(names, 5000, 1), (blocks{{3, true}}));
    EXPECT_EQ(touched(names, 1100, 1), (blocks{{1, false}}));
    EXPECT_EQ(touched(names, 1199, 2), (blocks{{1, false}, {2, false}}));
    EXPECT_EQ(names.bytes_of(1), 100);
    EXPECT_EQ(names.bytes_of(2), 50);
    EXPECT_EQ(touched(names, 1000, 0), blocks{});
}

TEST(data_names, what_lies_between_known_pieces_is_named_anew) {
    data_names names(100);
    touched(names, 1000, 100);
    touched(names, 1300, 100);
    EXPECT_EQ(touched(names, 950, 500),
              (blocks{{2, true}, {0, false}, {3, true}, {4, true}, {1, false}, {5, true}}));
    EXPECT_EQ(names.bytes_of(2), 50);
    EXPECT_EQ(names.bytes_of(5), 50);
}

TEST(data_names, do_not_depend_on_where_data_lie) {
    const auto run = [](std::size_t base) {
        data_names names(4096);
        std::mt19937 random(7);
        std::vector<blocks> all;
        for (int i = 0; i < 500; ++i)
            all.push_back(touched(names, base + random() % 100'000, random() % 20'000));
        return all;
    };
    EXPECT_EQ(run(1 << 20), run((1 << 24) + 12345));
}

// A cache as one would write it first: a list.
class plain_cache {
public:
    explicit plain_cache(std::int64_t capacity) : capacity_(capacity) {}

    bool use(block_id b) {
        for (std::size_t i = 0; i < held_.size(); ++i) {
            if (held_[i].first != b) continue;
            const auto found = held_[i];
            held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
            held_.push_front(found);
            return true;
        }
        return false;
    }
    std::vector<block_id> insert(block_id b, std::int64_t bytes) {
        std::vector<block_id> gone;
        if (bytes > capacity_) return gone;
        held_.emplace_front(b, bytes);
        auto sum = [&] {
            std::int64_t all = 0;
            for (const auto& h : held_) all += h.second;
            return all;
        };
        while (sum() > capacity_) {
            gone.push_back(held_.back().first);
            held_.pop_back();
        }
        return gone;
    }
    bool erase(block_id b) {
        return std::erase_if(held_, [&](const auto& h) { return h.first == b; }) > 0;
    }

private:
    std::int64_t capacity_;
    std::deque<std::pair<block_id, std::int64_t>> held_;
};

TEST(lru_cache, does_what_a_plain_list_does) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        std::mt19937 random(seed);
        lru_cache cache(1000);
        plain_cache plain(1000);
        std::vector<std::int64_t> bytes;
        for (int b = 0; b < 60; ++b)
            bytes.push_back(1 + static_cast<std::int64_t>(random() % (b == 0 ? 2000 : 150)));
        for (int i = 0; i < 5000; ++i) {
            const auto b = static_cast<block_id>(random() % 60);
            if (random() % 10 == 0) {
                ASSERT_EQ(cache.erase(b), plain.erase(b)) << "seed " << seed;
                continue;
            }
            const bool hit = cache.use(b);
            ASSERT_EQ(hit, plain.use(b)) << "seed " << seed;
            if (hit) continue;
            std::vector<block_id> gone;
            cache.insert(b, bytes[b], [&](block_id g) { gone.push_back(g); });
            ASSERT_EQ(gone, plain.insert(b, bytes[b])) << "seed " << seed;
            ASSERT_LE(cache.bytes(), 1000);
        }
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
        data.touch(rank, at(address), k, writes, t);
        return std::pair(t.private_ns, t.shared_ns);
    };
    // 10 lines of 64 bytes in flight: 1024 bytes take 160 ns from near memory, 320 from the other node's.
    EXPECT_EQ(cost(0, 8 * k), std::pair(0.0, 100.0 + 160));
    EXPECT_EQ(cost(0, 8 * k), std::pair(0.0, 0.0)); // the first level costs nothing
    for (std::size_t i = 9; i < 11; ++i) cost(0, i * k);
    EXPECT_EQ(cost(0, 8 * k), std::pair(10.0 + 16, 0.0));
    for (std::size_t i = 11; i < 20; ++i) cost(0, i * k);
    EXPECT_EQ(cost(0, 8 * k), std::pair(0.0, 40.0 + 32));
    EXPECT_EQ(cost(1, 19 * k), std::pair(0.0, 40.0 + 32)) << "the neighbour finds it in the cache they share";
    EXPECT_EQ(cost(2, 19 * k), std::pair(0.0, 200.0 + 320)) << "it is at home with who touched it first";
    EXPECT_EQ(data.of_node(0).remote, k);
    EXPECT_EQ(data.of_node(1).local + data.of_node(1).remote, 0U);
    EXPECT_EQ(data.of_worker(2).memory.remote, k);
    EXPECT_EQ(data.of_worker(2).levels[2].misses, k / 64);
}

TEST(numa_memory, a_write_takes_the_block_out_of_all_other_caches) {
    const machine m = two_by_two();
    numa_memory data(m);
    transfer t;
    for (int rank = 0; rank < 4; ++rank) data.touch(rank, at(k), k, false, t);
    data.touch(0, at(k), k, true, t);
    EXPECT_EQ(data.invalidations(), 7U)
        << "two levels of ranks 1, 2 and 3 each, and the one that 2 and 3 share";
    t.clear();
    data.touch(0, at(k), k, false, t);
    EXPECT_TRUE(t.empty());
    data.touch(1, at(k), k, false, t);
    EXPECT_EQ(t.shared_ns, 40.0 + 32);
    t.clear();
    data.touch(3, at(k), k, false, t);
    EXPECT_EQ(t.shared_ns, 200.0 + 320);
}

TEST(numa_memory, what_was_written_goes_home_when_it_leaves_the_last_cache) {
    const machine m = two_by_two();
    numa_memory data(m);
    transfer t;
    data.touch(0, at(k), k, true, t);
    for (std::size_t i = 100; i < 140; ++i) data.touch(0, at(i * k), k, false, t);
    EXPECT_EQ(data.of_node(0).local, 42 * k) << "41 fetched, one written back";
    data.touch(0, at(k), k, false, t);
    for (std::size_t i = 200; i < 240; ++i) data.touch(0, at(i * k), k, false, t);
    EXPECT_EQ(data.of_node(0).local, 83 * k) << "read only, the second time";
}

TEST(numa_memory, homes_that_the_program_asked_for) {
    const machine m = two_by_two();
    numa_memory data(m);
    transfer t;
    data.bind(at(k), 4 * k, 1);
    data.interleave(at(100 * k), 4 * k);
    data.touch(0, at(k), 4 * k, false, t);
    EXPECT_EQ(data.of_node(1).remote, 4 * k);
    data.touch(0, at(100 * k), 4 * k, false, t);
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
        data.touch(0, at(k), k, false, t);
        for (std::size_t i = 100; i < 132; ++i)
            data.touch(1, at(i * k), k, false, t); // fills the third level
        t.clear();
        data.touch(0, at(k), k, false, t);
        EXPECT_EQ(t.shared_ns > 0, inclusive);
    }
}

TEST(numa_memory, what_the_machine_does_not_say_costs_nothing) {
    const machine m = load_machine("pack:2 [numa] l3:1 core:2 pu:1");
    numa_memory data(m);
    transfer t;
    data.touch(3, at(k), 1000 * k, true, t);
    EXPECT_EQ(t.shared_ns + t.private_ns, 0);
}

} // namespace
} // namespace weft::engine
