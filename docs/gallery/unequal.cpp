#include <weft/weft.hpp>

#include <atomic>
#include <cstdio>

/// Equal pieces on unequal cores: the fast cores take more of them.
int main() {
    std::atomic<int> ended = 0;
    const auto piece = [&] {
        weft::cost(120'000, weft::work::compute);
        ++ended;
    };
    weft::runtime().run([&] {
        weft::task_group group;
        for (int i = 0; i < 60; ++i) group.run(piece, {.name = i % 2 == 0 ? "even piece" : "odd piece"});
        group.wait();
    });
    std::printf("%d pieces\n", ended.load());
}
