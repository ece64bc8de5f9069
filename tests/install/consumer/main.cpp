#include <weft/weft.hpp>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

static long fib(int n) {
    if (n < 2) return n;
    auto [a, b] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

// What has bodies in other libraries, and in headers of others.
static bool sorts() {
    std::vector<int> numbers;
    for (int i = 0; i < 100'000; ++i) numbers.push_back(i * 7919 % 100'000);
    std::vector<std::string> words{"c", "b", "a"};
    weft::parallel_sort(numbers.begin(), numbers.end());
    weft::parallel_sort(words.begin(), words.end());
    weft::parallel_scan(numbers.begin(), numbers.end(), numbers.begin(), 0L, std::plus<>{});
    return numbers[4] == 10 && words[0] == "a";
}

int main() {
    std::printf("fib(35) = %ld\n", fib(35));
    return sorts() ? 0 : 1;
}
