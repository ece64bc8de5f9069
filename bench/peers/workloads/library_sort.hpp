// The sort that comes with the runtime; unstable where there is a choice.
#pragma once

#include "keys.hpp"
#include "needs.hpp"

#include <string_view>

namespace peers {

struct library_sort {
    static constexpr std::string_view name = "library_sort", needs = "library sort";
    static constexpr int size = 10'000'000, warm = 100'000;
    static constexpr bool is_loop = true;

    explicit library_sort(int n) : data(n) {}

    template <sorts Strand>
    void run(Strand here) {
        here.sort(data.values.begin(), data.values.end());
    }
    bool is_right() const { return data.are_sorted(); }

    keys data;
};

} // namespace peers
