// Memory for task records: what is freed on one worker comes back to another.
#include "engine/worker/block_cache.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <vector>

#ifndef WEFT_TSAN
namespace {
std::vector<void*> released, acquired; // what ThreadSanitizer would be told
}
extern "C" {
void __tsan_release(void* edge) { released.push_back(edge); }
void __tsan_acquire(void* edge) { acquired.push_back(edge); }
}
#endif

namespace weft::engine {
namespace {

#ifndef WEFT_TSAN
/// Closures lie in the blocks, so what a thread did in a block comes before what the next one does there.
TEST(block_cache, a_block_of_pages_goes_from_thread_to_thread_in_an_order_that_is_announced) {
    block_depot depot;
    depot.pages.use();
    void* const block = depot.allocate(1);
    released.clear();
    depot.give_back(1, block);
    ASSERT_FALSE(released.empty());
    acquired.clear();
    EXPECT_EQ(depot.allocate(1), block);
    EXPECT_EQ(std::set<void*>(acquired.begin(), acquired.end()),
              std::set<void*>(released.begin(), released.end()));
    depot.give_back(1, block);
}
#endif

TEST(block_cache, gives_a_block_of_at_least_the_size) {
    block_depot depot;
    block_cache cache(depot);
    for (const std::size_t wanted :
         {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{1024}, std::size_t{5000}}) {
        std::size_t bytes = wanted;
        void* const block = cache.take(bytes);
        EXPECT_GE(bytes, wanted);
        EXPECT_EQ(bytes % block_cache::unit, 0u);
        cache.give(block, bytes);
    }
}

TEST(block_cache, takes_first_what_was_given_last) {
    block_depot depot;
    block_cache cache(depot);
    std::size_t bytes = 200;
    void* const block = cache.take(bytes);
    cache.give(block, bytes);
    EXPECT_EQ(cache.take(bytes), block);
    cache.give(block, bytes);
}

TEST(block_cache, gives_each_block_once) {
    block_depot depot;
    block_cache cache(depot);
    std::size_t bytes = 200;
    constexpr std::size_t count = 5 * block_chain::full / 2; // a spare chain, and a half
    std::vector<void*> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(cache.take(bytes));
    for (void* block : out) cache.give(block, bytes);
    std::set<void*> again;
    for (std::size_t i = 0; i < 2 * count; ++i) again.insert(cache.take(bytes));
    EXPECT_EQ(again.size(), 2 * count);
    for (void* block : again) cache.give(block, bytes);
}

TEST(block_cache, what_a_thief_frees_returns_to_the_spawner) {
    block_depot depot;
    block_cache spawner(depot), thief(depot);
    std::size_t bytes = 200;
    std::set<void*> made;
    const int rounds = 100, burst = 3 * block_chain::full;
    for (int round = 0; round < rounds; ++round) {
        std::vector<void*> out;
        for (int i = 0; i < burst; ++i) out.push_back(spawner.take(bytes));
        made.insert(out.begin(), out.end());
        EXPECT_EQ(std::set<void*>(out.begin(), out.end()).size(), out.size()) << "a block was given twice";
        for (void* block : out) thief.give(block, bytes);
    }
    // Two bursts cover one under way and what the thief keeps; without the depot each burst would be new.
    EXPECT_LE(made.size(), 2u * burst);
}

TEST(block_cache, the_depot_is_bounded) {
    block_depot depot;
    std::vector<void*> blocks;
    for (std::size_t i = 0; i < (block_depot::keep + 10) * block_chain::full; ++i)
        blocks.push_back(::operator new(block_cache::unit));
    for (std::size_t c = 0; c < block_depot::keep + 10; ++c) {
        block_chain chain;
        for (std::size_t i = 0; i < block_chain::full; ++i) chain.push(blocks[c * block_chain::full + i]);
        depot.give(1, chain);
    }
    std::size_t kept = 0;
    for (block_chain chain = depot.take(1); chain.count > 0; chain = depot.take(1)) {
        ++kept;
        depot.release(1, chain);
    }
    EXPECT_EQ(kept, block_depot::keep);
}

} // namespace
} // namespace weft::engine
