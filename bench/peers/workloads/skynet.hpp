// A tree of tasks with ten children a node and a million leaves, each with its number; their sum.
#pragma once

#include "needs.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace peers {

struct skynet {
    static constexpr std::string_view name = "skynet", needs = "task groups";
    static constexpr int size = 1'000'000, warm = 1000; // a power of ten

    explicit skynet(int given) : leaves(static_cast<std::uint64_t>(given)) {}

    template <groups Strand>
    static std::uint64_t from(std::uint64_t first, std::uint64_t count) {
        if (count == 1) return first;
        std::array<std::uint64_t, 10> sums{};
        typename Strand::group children;
        for (std::size_t i = 0; i < 10; ++i) {
            children.run([&sum = sums[i], start = first + i * (count / 10), part = count / 10](Strand) {
                sum = from<Strand>(start, part);
            });
        }
        children.wait();
        return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    }

    template <groups Strand>
    void run(Strand) {
        answer = from<Strand>(0, leaves);
    }
    bool is_right() const { return answer == leaves * (leaves - 1) / 2; }
    double nodes() const { return static_cast<double>(leaves) * 10 / 9; } // children

    std::uint64_t leaves;
    std::uint64_t answer = 0;
};

} // namespace peers
