// A loop over 100 M elements of two bytes: serial, with one worker, with two. Times relative to the serial
// loop.
//   elements=100000000
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <cstdint>
#include <vector>

namespace {

std::uint16_t value_of(std::uint32_t i) { // some work, no branch
    i ^= i >> 15;
    i *= 0x2c1b3c6dU;
    i ^= i >> 12;
    return static_cast<std::uint16_t>(i);
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const auto elements = static_cast<std::uint32_t>(given.number("elements", 100'000'000));
        std::vector<std::uint16_t> out(elements, 1);
        const auto body = [&](std::uint32_t i) { out[i] = value_of(i); };
        const auto is_right = [&] { // and spoils it for the next
            bool right = true;
            for (std::uint32_t i = 0; i < elements; i += 97) {
                right = right && out[i] == value_of(i);
                out[i] = static_cast<std::uint16_t>(~out[i]);
            }
            return right;
        };
        const auto run = [&](int workers) {
            weft::runtime rt(bench::with_workers(workers));
            const double ns =
                bench::time_ns([&] { rt.run([&] { weft::parallel_for(0U, elements, body); }); });
            s.check(is_right());
            return ns;
        };
        s.with_both_cores([&] {
            const double serial = bench::time_ns([&] {
                for (std::uint32_t i = 0; i < elements; ++i) body(i);
            });
            s.check(is_right());
            s.add("one", run(1) / serial);
            s.add("two", serial / run(2));
        });
    });
}
