#pragma once

#include "runtime/settings.hpp"

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

/// Where thread `i` of so many is, in the partition of its parent (OpenMP 5.1, 2.6.2).
placement place_of_thread(const placement& parent, binding how, int i, int threads) noexcept;
/// The same for all threads of a team that begins. `bind`: of the proc_bind clause.
void place_threads(team&, int bind) noexcept;
/// Binds the caller, if it is a thread of the program, to the place of thread 0, as libomp does. (The threads of workers are bound by
/// WEFT_PIN alone.)
void bind_thread(const team&) noexcept;
/// The end of an outermost region: undoes that if KMP_AFFINITY says `reset`.
void release_thread() noexcept;
/// The worker at which it starts: one in its place, or `otherwise`.
unsigned worker_of_thread(const team&, unsigned i, unsigned otherwise) noexcept;

/// The text that the format describes (omp_capture_affinity).
std::string describe_affinity(const region&, const std::string& format);
/// Where the process shows it: libgomp on standard error, libomp on standard output.
void print_affinity(const std::string& lines);
/// OMP_DISPLAY_AFFINITY (OpenMP 5.1, 6.13): a line for a thread that begins a region, if the places of the team, or the thread's level and
/// team size, are others than in its last region. note_places() comes before, when the team begins.
void note_places(team&);
void display_affinity_of(region& implicit);

} // namespace weft::openmp
