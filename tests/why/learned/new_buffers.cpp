// Each iteration takes new memory from the system, and gives it back.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <cstring>
#include <memory>
#include <vector>

namespace {

constexpr std::size_t bytes = 4 << 20;

double use(char* buffer, int i) {
    std::memset(buffer, i, bytes); // FAULT page_faults
    asm volatile("" ::"r"(buffer) : "memory");
    return compute(200 * us, buffer[17]);
}

} // namespace

int main() {
    std::vector<double> data(300);
    for (int round = 0; round < 3; ++round)
        weft::parallel_for(0, 300,
                           [&](int i) {
#ifdef MENDED
                               thread_local const std::unique_ptr<char[]> buffer(new char[bytes]);
#else
                               const std::unique_ptr<char[]> buffer(new char[bytes]); // AT page_faults
#endif
                               data[static_cast<std::size_t>(i)] = use(buffer.get(), i);
                           },
                           {.grain = 1});
    std::printf("%g\n", data[7]);
}
