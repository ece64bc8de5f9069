#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

/// The longest common subsequence of two texts, by blocks: each block needs those to its left and above it.
constexpr std::size_t blocks = 12, side = 32, n = blocks * side;

int main() {
    std::string a, b;
    for (std::size_t i = 0; i < n; ++i) a += "ACGT"[i * i % 7 % 4], b += "ACGT"[i * i % 11 % 4];
    std::vector<std::vector<int>> length(n + 1, std::vector<int>(n + 1));
    weft::datum block[blocks + 1][blocks + 1];

    weft::graph dag;
    for (std::size_t r = 1; r <= blocks; ++r) {
        for (std::size_t c = 1; c <= blocks; ++c) {
            const auto fill = [&length, &a, &b, r, c] {
                weft::cost(20 * side * side);
                for (std::size_t i = (r - 1) * side + 1; i <= r * side; ++i)
                    for (std::size_t j = (c - 1) * side + 1; j <= c * side; ++j)
                        length[i][j] = a[i - 1] == b[j - 1] ? length[i - 1][j - 1] + 1
                                                            : std::max(length[i - 1][j], length[i][j - 1]);
            };
            dag.add(fill, weft::read(block[r - 1][c]), weft::read(block[r][c - 1]), weft::write(block[r][c]),
                    weft::name((r + c) % 2 == 0 ? "even diagonal" : "odd diagonal"));
        }
    }
    dag.run();
    std::printf("common: %d\n", length[n][n]);
}
