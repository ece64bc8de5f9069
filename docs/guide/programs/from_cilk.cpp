#include <weft/weft.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

// x = cilk_spawn fib(n - 1); y = fib(n - 2); cilk_sync;
static long fib(int n) {
    if (n < 2) return n;
    const auto [x, y] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return x + y;
}

struct node {
    int value;
    const node* left;
    const node* right;
};

// Three spawns and one sync: a group. Its destructor waits, as the end of a Cilk function does.
static int sum(const node* tree) {
    if (tree == nullptr) return 0;
    int left = 0, right = 0;
    weft::task_group spawned;
    spawned.run([&] { left = sum(tree->left); });
    spawned.run([&] { right = sum(tree->right); });
    spawned.wait();
    return left + tree->value + right;
}

int main() {
    std::printf("fib(30) = %ld\n", fib(30));

    const node leaves[] = {{1, nullptr, nullptr}, {3, nullptr, nullptr}};
    const node root{2, &leaves[0], &leaves[1]};
    std::printf("sum of the tree: %d\n", sum(&root));

    // cilk_for, with a grain as in `#pragma cilk grainsize 16`.
    std::vector<int> square(1000);
    weft::parallel_for(0, 1000, [&](int i) { square[i] = i * i; }, {.grain = 16});
    std::printf("last square: %d\n", square.back());

    // A reducer that appends: the pieces come together in the order of the loop.
    const std::string digits = weft::parallel_reduce(
        0, 10, std::string(), [](int i) { return std::to_string(i); },
        [](std::string a, const std::string& b) { return std::move(a) + b; });
    std::printf("digits: %s\n", digits.c_str());
}
