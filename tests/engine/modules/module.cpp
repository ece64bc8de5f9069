/// A library that uses Weft in the ways a library can.
#include <weft/weft.hpp>

#include <atomic>

namespace {

int fib(int n) {
    if (n < 2) return n;
    const auto [a, b] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

int work() {
    std::atomic<int> sum{0};
    weft::parallel_for(0, 100, [&](int i) { sum += i; }, {.grain = 1});
    weft::task_group g;
    for (int i = 0; i < 10; ++i) g.run([&] { sum += fib(10); });
    g.wait();
    return sum;
}

/// Its destructor, called by dlclose() or exit(), runs a parallel program too.
struct last_user {
    int* result = nullptr;
    ~last_user() {
        if (result) *result = work();
    }
} last;

} // namespace

#define WEFT_TEST_EXPORT extern "C" __attribute__((visibility("default")))

WEFT_TEST_EXPORT int in_own_runtime() {
    weft::runtime_options o;
    o.workers = 3;
    weft::runtime rt(o);
    return rt.run(work);
}

WEFT_TEST_EXPORT int in_default_runtime() { return work(); }

WEFT_TEST_EXPORT void at_its_end(int* result) { last.result = result; }
