#include <weft/weft.hpp>

#include <cstdint>
#include <cstdio>

/// Children of two kinds in one group, with names: few long ones, which are added last, and many short ones.
int main() {
    int ended = 0;
    weft::mutex lock;
    const auto work = [&](std::uint64_t cycles) {
        weft::cost(cycles);
        const std::lock_guard held(lock);
        ++ended;
    };
    weft::runtime().run([&] {
        weft::task_group group;
        for (int i = 0; i < 60; ++i) group.run([&] { work(20'000); }, {.name = "short"});
        for (int i = 0; i < 6; ++i) group.run([&] { work(200'000); }, {.name = "long"});
        group.wait();
    });
    std::printf("%d children\n", ended);
}
