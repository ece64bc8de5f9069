#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Places and the binding of threads to them (OMP_PLACES, OMP_PROC_BIND, proc_bind). A place decides at which worker a thread of
/// an outermost team starts; whether the worker's own thread is pinned is Weft's decision (WEFT_PIN).
namespace weft::openmp {

struct team;
struct region;

/// The places of the process, each a set of processor numbers. Empty: none were given.
const std::vector<std::vector<int>>& places() noexcept;
/// How they were given.
std::string places_text();
/// Reads OMP_PLACES; false if it is malformed.
bool read_places(const std::string& text);

/// The place of thread `i` of a team that begins, or -1.
int place_of_thread(const team&, int i, int bind) noexcept;
/// The worker at which it starts: one in its place, or `otherwise`.
unsigned worker_of_thread(const team&, unsigned i, unsigned otherwise) noexcept;

/// The text that the format describes (omp_capture_affinity).
std::string describe_affinity(const region&, const std::string& format);
/// Where the process shows it: libgomp on standard error, libomp on standard output.
void print_affinity(const std::string& lines);
/// OMP_DISPLAY_AFFINITY: a line for the thread that begins the region, if it is another one than in the last region on its seat
/// (OpenMP 5.1, 6.13).
void display_affinity_of(region& implicit);

} // namespace weft::openmp
