#include <weft/weft.hpp>

#include <atomic>
#include <cstdio>

/// Ten queens: the twentieth solution cancels the rest of the search.
constexpr int n = 10, wanted = 20;
static std::atomic<int> solutions = 0;

static void place(int row, unsigned columns, unsigned left, unsigned right, weft::task_group& search) {
    weft::cost(5'000);
    if (row == n) {
        if (++solutions == wanted) search.cancel();
        return;
    }
    weft::task_group next;
    for (unsigned free = ~(columns | left | right) & ((1U << n) - 1); free != 0; free &= free - 1) {
        const unsigned queen = free & -free;
        next.run([=, &search] {
            place(row + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1, search);
        });
    }
    next.wait();
}

int main() {
    weft::task_group search;
    search.run([&] { place(0, 0, 0, 0, search); });
    search.wait();
    std::printf("at least %d solutions: %s\n", wanted, solutions >= wanted ? "yes" : "no");
}
