// Each iteration takes new memory from the system, and gives it back.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <memory>
#include <vector>

namespace {

constexpr std::size_t bytes = 40 << 20; // so much that the C library keeps none of it

double use(char* buffer, int i) {
    for (std::size_t at = 0; at < bytes; at += 64) buffer[at] = static_cast<char>(i); // FAULT page_faults
    asm volatile("" ::"r"(buffer) : "memory");
    return compute(4 * ms, buffer[128]);
}

} // namespace

int main() {
    std::vector<double> data(16);
    for (int round = 0; round < 2; ++round)
        weft::parallel_for(0, 16,
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
