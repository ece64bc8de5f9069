// Tasks ask a library that answers with std::future, and wait for it.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <future>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

std::future<double> ask(int i) {
    return std::async(std::launch::async, [i] {
        std::this_thread::sleep_for(2ms);
        return 1.0 * i;
    });
}

} // namespace

int main() {
    std::vector<double> data(240);
    for (int from = 0; from < 240; from += 60) {
#ifdef MENDED
        std::vector<std::future<double>> answers;
        for (int i = 0; i < 60; ++i) answers.push_back(ask(from + i));
#endif
        weft::parallel_for(0, 60,
                           [&](int i) {
#ifdef MENDED
                               const double answer = answers[static_cast<std::size_t>(i)].get();
#else
                               const double answer = ask(from + i).get(); // FAULT blocking
#endif
                               data[static_cast<std::size_t>(from + i)] = compute(ms, answer);
                           },
                           {.grain = 1});
    }
    std::printf("%g\n", data[7]);
}
