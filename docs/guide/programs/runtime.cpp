#include <weft/weft.hpp>

#include <cstdio>

static long fib(int n) {
    if (n < 2) return n;
    auto [a, b] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

int main(int count, char** words) {
    try {
        weft::runtime rt(weft::runtime_options{.workers = 2, .policy = count > 1 ? words[1] : "near"});
        const long result = rt.run([] { return fib(30); });
        std::printf("fib(30) = %ld, %d workers under %s\n", result, rt.workers(), rt.policy().c_str());
        std::printf("%s\n", rt.stats().to_json().c_str());
    } catch (const weft::error& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
