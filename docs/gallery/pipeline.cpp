#include <weft/weft.hpp>

#include <cstdio>
#include <optional>

/// Read, compress, write: the stages at both ends take one item at a time, the one in the middle takes many.
int main() {
    int next = 0;
    long written = 0;
    weft::pipeline stages(weft::stage::serial_in_order(
                              [&]() -> std::optional<int> {
                                  if (next == 40) return std::nullopt;
                                  weft::cost(8'000);
                                  return next++;
                              },
                              {.name = "read"}),
                          weft::stage::parallel(
                              [](int item) {
                                  weft::cost(item % 4 == 0 ? 80'000 : 40'000);
                                  return item * item;
                              },
                              {.name = "compress"}),
                          weft::stage::serial_in_order(
                              [&](int item) {
                                  weft::cost(6'000);
                                  written += item;
                              },
                              {.name = "write"}));
    stages.run(12);
    std::printf("written: %ld\n", written);
}
