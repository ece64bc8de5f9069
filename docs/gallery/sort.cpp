#include <weft/weft.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

/// Merge sort with a serial merge: the merge of the last two halves is the longest part of the path.
static void merge_sort(int* first, int* last, int* space) {
    const auto n = static_cast<std::uint64_t>(last - first);
    if (n <= 512) {
        weft::cost(50 * n);
        std::sort(first, last);
        return;
    }
    int* const middle = first + n / 2;
    weft::join([=] { merge_sort(first, middle, space); }, [=] { merge_sort(middle, last, space + n / 2); });
    weft::touch(first, n * sizeof(int), weft::access::read);
    weft::touch(space, n * sizeof(int), weft::access::write);
    weft::cost(20 * n);
    std::merge(first, middle, middle, last, space);
    std::copy(space, space + n, first);
}

int main() {
    std::vector<int> v(1 << 16), space(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int>(i * 2654435761U % 100'003);
    merge_sort(v.data(), v.data() + v.size(), space.data());
    std::printf("sorted: %s\n", std::is_sorted(v.begin(), v.end()) ? "yes" : "no");
}
