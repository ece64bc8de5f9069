// Random numbers: std::sort against parallel_sort at one worker and at two, one after the other, over
// std::sort.
//   elements=10000000 type=u32   (u32, u64, f32, f64, or record: 24 bytes under a lambda)
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

struct record {
    std::uint64_t key;
    std::array<std::uint64_t, 2> more;
};

template <class T, class Less>
void measure(bench::sample& s, std::size_t n, const Less& less) {
    std::mt19937_64 random(1);
    std::vector<T> given(n);
    for (T& x : given) {
        if constexpr (std::is_arithmetic_v<T>)
            x = static_cast<T>(random());
        else
            x = {random(), {}};
    }
    std::vector<T> sorted = given;
    const double serial = bench::time_ns([&] { std::sort(sorted.begin(), sorted.end(), less); });
    s.add("serial_ms", serial * 1e-6);

    std::vector<T> values(n); // its pages are there before the clock runs
    const auto over_serial = [&](weft::runtime& rt) {
        std::copy(given.begin(), given.end(), values.begin());
        const double ns =
            bench::time_ns([&] { rt.run([&] { weft::parallel_sort(values.begin(), values.end(), less); }); });
        s.check(std::equal(values.begin(), values.end(), sorted.begin(),
                           [&](const T& a, const T& b) { return !less(a, b) && !less(b, a); }));
        return ns / serial;
    };
    bench::runtime_pair rts;
    s.add("one", over_serial(rts.one));
    s.add("two", over_serial(rts.two));
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const auto n = static_cast<std::size_t>(given.number("elements", 10'000'000));
        const std::string type = given.text("type", "u32");
        s.with_both_cores([&] {
            if (type == "u32")
                measure<std::uint32_t>(s, n, std::less<>{});
            else if (type == "u64")
                measure<std::uint64_t>(s, n, std::less<>{});
            else if (type == "f32")
                measure<float>(s, n, std::less<>{});
            else if (type == "f64")
                measure<double>(s, n, std::less<>{});
            else if (type == "record")
                measure<record>(s, n, [](const record& a, const record& b) { return a.key < b.key; });
            else
                throw bench::usage_error("type is u32, u64, f32, f64 or record");
        });
    });
}
