// One task that adds many short children to a group in a loop, as ported programs do; and such tasks in a group.
#pragma once

#include "needs.hpp"
#include "uneven_loop.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace peers {

/// `Shape::steps(i)` is how much child i computes; a step takes about 2 ns.
template <class Shape>
struct spawn_loop : Shape {
    static constexpr std::string_view needs = "task groups";
    static constexpr int warm = 500;

    explicit spawn_loop(int n) : out(static_cast<std::size_t>(n)) {}

    // Not inlined, or the serial program would compute several children at once, by vector instructions.
    [[gnu::noinline]] static std::uint64_t child(int i) {
        return uneven_loop::after(Shape::steps(i), static_cast<std::uint64_t>(i) + 1);
    }

    template <groups Strand>
    void run(Strand) {
        std::uint64_t* const to = out.data();
        const int count = static_cast<int>(out.size());
        typename Strand::group children;
        for (int i = 0; i < count; ++i) children.run([to, i](Strand) { to[i] = child(i); });
        children.wait();
    }
    bool is_right() const {
        for (std::size_t i = 0; i < out.size(); i += 97)
            if (out[i] != child(static_cast<int>(i))) return false;
        return true;
    }
    double nodes() const { return static_cast<double>(out.size()); } // children

    std::vector<std::uint64_t> out;
};

struct children_of_100_ns {
    static constexpr std::string_view name = "spawns_100ns";
    static constexpr int size = 200'000;
    static int steps(int) { return 50; }
};
struct children_of_1_us {
    static constexpr std::string_view name = "spawns_1us";
    static constexpr int size = 50'000;
    static int steps(int) { return 500; }
};
struct children_of_20_us {
    static constexpr std::string_view name = "spawns_20us";
    static constexpr int size = 5'000;
    static int steps(int) { return 10'000; }
};
struct children_of_100_us {
    static constexpr std::string_view name = "spawns_100us";
    static constexpr int size = 1'000;
    static int steps(int) { return 50'000; }
};
/// 1 us on average: one child in 64 has half of all the work.
struct uneven_children {
    static constexpr std::string_view name = "spawns_uneven";
    static constexpr int size = 50'000;
    static int steps(int i) { return i % 64 == 0 ? 16'000 : 254; }
};

/// 250 children of 1 us in each group, and a group of the tasks that add them.
struct spawns_nested : spawn_loop<children_of_1_us> {
    static constexpr std::string_view name = "spawns_nested";
    static constexpr int in_a_group = 250;
    using spawn_loop::spawn_loop;

    template <groups Strand>
    void run(Strand) {
        std::uint64_t* const to = out.data();
        const int count = static_cast<int>(out.size());
        typename Strand::group parents;
        for (int first = 0; first < count; first += in_a_group)
            parents.run([to, first](Strand) {
                typename Strand::group children;
                for (int i = first; i < first + in_a_group; ++i)
                    children.run([to, i](Strand) { to[i] = child(i); });
                children.wait();
            });
        parents.wait();
    }
};

using spawns_100ns = spawn_loop<children_of_100_ns>;
using spawns_1us = spawn_loop<children_of_1_us>;
using spawns_20us = spawn_loop<children_of_20_us>;
using spawns_100us = spawn_loop<children_of_100_us>;
using spawns_uneven = spawn_loop<uneven_children>;

} // namespace peers
