// The parts that policies for several sockets are made of, each by itself.
#include "policy/fake_context.hpp"
#include "policy/parts/worker_domains.hpp"
#include "policy/parts/worker_groups.hpp"

#include "machine/load.hpp"
#include "machine/machine.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

using test::fake_context;

std::vector<int> sizes_of(const std::vector<workers>& groups) {
    std::vector<int> sizes;
    for (const workers g : groups) sizes.push_back(g.size());
    return sizes;
}

class worker_divisions : public testing::Test {
protected:
    const machine on = load_synthetic("pack:2 [numa] l3:1 core:2 pu:1");
    const domains caches{on, domain_kind::last_level_cache};
};

TEST_F(worker_divisions, groups_are_the_workers_of_a_domain) {
    fake_context context(4);
    EXPECT_EQ(sizes_of(groups_in_domains(context, caches)), (std::vector{2, 2}));
    EXPECT_EQ(sizes_of(groups_for_domains(context, caches)), (std::vector{2, 2}));
    EXPECT_EQ(sizes_of(groups_of_size(context, 3)), (std::vector{3, 1}));
}

TEST_F(worker_divisions, a_domain_whose_cores_come_again_has_several_groups_or_an_even_part) {
    fake_context context(4);
    context.cores = {0, 1, 2, 0};
    EXPECT_EQ(sizes_of(groups_in_domains(context, caches)), (std::vector{2, 1, 1}));
    EXPECT_EQ(sizes_of(groups_for_domains(context, caches)), (std::vector{2, 2}));
}

TEST_F(worker_divisions, a_worker_is_in_the_domain_of_the_core_that_it_has_now) {
    fake_context context(4);
    worker_domains sockets;
    sockets.attach(on, context, domain_kind::last_level_cache);
    EXPECT_EQ(sockets.of(1), 0);
    EXPECT_EQ(sockets.workers_in(0), 2);
    EXPECT_EQ(sockets.random_neighbour(1), 0);
    context.cores = {0, 2, 1, 3};
    EXPECT_EQ(sockets.of(1), 1);
    EXPECT_EQ(sockets.random_neighbour(1), 3);
    EXPECT_EQ(sockets.others(1), (std::vector{0}));
}

} // namespace
} // namespace weft
