#include "runtime/affinity.hpp"
#include "runtime/team.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

/// omp_*: places, binding, the affinity format.
using namespace weft::openmp;

namespace {

bool is_place(int n) noexcept { return n >= 0 && static_cast<std::size_t>(n) < places().size(); }

std::size_t copy_text(const std::string& text, char* to, std::size_t room) noexcept {
    if (room) {
        const std::size_t n = std::min(text.size(), room - 1);
        std::memcpy(to, text.data(), n);
        to[n] = '\0';
    }
    return text.size();
}

std::string format_or_default(const char* format) {
    return format && *format ? std::string(format) : settings().affinity_format;
}

} // namespace

extern "C" {

int omp_get_proc_bind() { return static_cast<int>(current_region().icv.bind); }
int omp_get_num_places() { return static_cast<int>(places().size()); }
int omp_get_place_num() { return places().empty() ? -1 : std::max(current_region().on->place.place, 0); }
int omp_get_place_num_procs(int n) {
    return is_place(n) ? static_cast<int>(places()[static_cast<std::size_t>(n)].size()) : 0;
}
void omp_get_place_proc_ids(int n, int* ids) {
    if (is_place(n)) std::ranges::copy(places()[static_cast<std::size_t>(n)], ids);
}
int omp_get_partition_num_places() {
    const int part = current_region().on->place.count;
    return part ? part : omp_get_num_places();
}
void omp_get_partition_place_nums(int* numbers) {
    const int first = current_region().on->place.first;
    for (int i = 0; i < omp_get_partition_num_places(); ++i) numbers[i] = (first + i) % omp_get_num_places();
}

void omp_set_affinity_format(const char* format) { settings().affinity_format = format; }
std::size_t omp_get_affinity_format(char* to, std::size_t room) {
    return copy_text(settings().affinity_format, to, room);
}
void omp_display_affinity(const char* format) {
    print_affinity(describe_affinity(current_region(), format_or_default(format)) + "\n");
}
std::size_t omp_capture_affinity(char* to, std::size_t room, const char* format) {
    return copy_text(describe_affinity(current_region(), format_or_default(format)), to, room);
}

} // extern "C"
