// Tasks read from a slow pipe.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <thread>
#include <unistd.h>
#include <vector>

int main() {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    std::thread source([&] {
        for (int i = 0; i < 100; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            if (write(ends[1], "x", 1) != 1) return;
        }
    });
    std::vector<double> data(100, 1.0);
#ifdef MENDED
    std::vector<char> letters(100);
    std::thread reader([&] {
        for (char& letter : letters)
            if (read(ends[0], &letter, 1) != 1) return;
    });
    weft::parallel_for(0, 100, [&](int i) { data[static_cast<std::size_t>(i)] += compute(5 * ms); },
                       {.grain = 1});
    reader.join();
#else
    weft::parallel_for(0, 100,
                       [&](int i) {
                           char letter = 0;
                           if (read(ends[0], &letter, 1) != 1) return; // FAULT blocking
                           data[static_cast<std::size_t>(i)] += compute(5 * ms);
                       },
                       {.grain = 1});
#endif
    source.join();
    std::printf("%g\n", data[7]);
}
