// What has bodies in other libraries, and in headers of others.
#include <weft/weft.hpp>

#include <functional>
#include <string>
#include <vector>

int main() {
    std::vector<int> numbers;
    for (int i = 0; i < 100'000; ++i) numbers.push_back(i * 7919 % 100'000);
    std::vector<std::string> words{"c", "b", "a"};
    weft::parallel_sort(numbers.begin(), numbers.end());
    weft::parallel_sort(words.begin(), words.end());
    weft::parallel_scan(numbers.begin(), numbers.end(), numbers.begin(), 0L, std::plus<>{});
    return numbers[4] == 10 && words[0] == "a" ? 0 : 1;
}
