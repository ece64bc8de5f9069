#include "notes.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <ctime>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::watch {

namespace {

constexpr std::size_t file_bytes =
    sizeof(header) + place_count * sizeof(place) + sample_count * sizeof(sample);
constexpr std::uint32_t most_probes = 64;

std::atomic<char*> memory = nullptr; // release and acquire: who sees the pointer sees the header

header& header_in(char* at) noexcept { return *reinterpret_cast<header*>(at); }
place* places_in(char* at) noexcept { return reinterpret_cast<place*>(at + sizeof(header)); }
sample* samples_in(char* at) noexcept {
    return reinterpret_cast<sample*>(at + sizeof(header) + place_count * sizeof(place));
}

std::uint64_t clock_ns(clockid_t clock) noexcept {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Whether the code at `at` is between two stacks: where a runtime switches from one task to another by code of its own
/// (src/task/context_switch.hpp), the tables for walking stacks are wrong for a few instructions.
bool switches_stacks(std::uint64_t at) noexcept {
    // leaq -128(%rsp), %rsp; pushq %rbp; leaq 1f(%rip), %rax
    constexpr std::array<unsigned char, 9> first = {0x48, 0x8d, 0x64, 0x24, 0x80, 0x55, 0x48, 0x8d, 0x05};
    constexpr std::uint64_t length = 35; // up to the end of leaq 128(%rsp), %rsp
    for (std::uint64_t begin = at - length; begin <= at; ++begin)
        if (std::memcmp(reinterpret_cast<const void*>(begin), first.data(), first.size()) == 0) return true;
    return false;
}

std::uint64_t hash(state what, const stack& s) noexcept {
    std::uint64_t h = 0x9e3779b97f4a7c15u * (static_cast<std::uint64_t>(what) + 1);
    for (std::uint32_t i = 0; i < s.depth; ++i) h = (h ^ s.frames[i]) * 0xff51afd7ed558ccdu, h ^= h >> 32;
    return h;
}

bool is_same(const place& p, state what, const stack& s) noexcept {
    return p.what == what && p.depth == s.depth &&
           std::memcmp(p.frames, s.frames, s.depth * sizeof(s.frames[0])) == 0;
}

std::uint32_t find_place(char* at, state what, const stack& s) noexcept {
    place* const places = places_in(at);
    std::uint64_t index = hash(what, s);
    for (std::uint32_t probe = 0; probe < most_probes; ++probe, ++index) {
        place& p = places[index % place_count];
        std::uint32_t phase =
            p.phase.load(std::memory_order_acquire); // pairs with the release store of `made` below
        if (phase == place::free &&
            p.phase.compare_exchange_strong(phase, place::being_made, std::memory_order_relaxed)) {
            p.what = what;
            p.depth = s.depth;
            std::copy_n(s.frames, s.depth, p.frames);
            p.holder.store(no_place, std::memory_order_relaxed);
            p.phase.store(place::made, std::memory_order_release); // pairs with the acquire load above
            phase = place::made;
        }
        // A place that another thread is making is not waited for, since this may be a handler on that thread: the
        // stack gets a second place, and the reader adds them up.
        if (phase == place::made && is_same(p, what, s))
            return static_cast<std::uint32_t>(index % place_count);
    }
    return no_place;
}

} // namespace

std::uint64_t now_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

std::uint64_t thread_ns() noexcept { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

stack take_stack(std::uint32_t skip) noexcept {
    void* raw[most_frames + 8];
    const int got = backtrace(raw, static_cast<int>(most_frames + skip + 1));
    stack s;
    for (int i = static_cast<int>(skip) + 1; i < got && s.depth < most_frames; ++i)
        s.frames[s.depth++] = reinterpret_cast<std::uint64_t>(raw[i]);
    return s;
}

stack take_interrupted_stack(std::uint64_t at, const void* restorer) noexcept {
    stack s;
    if (switches_stacks(at)) {
        s.frames[s.depth++] = at;
        return s;
    }
    void* raw[most_frames + 4];
    const int got = backtrace(raw, most_frames + 4);
    int first = 0;
    while (first < got && reinterpret_cast<std::uint64_t>(raw[first]) != at) ++first;
    if (first == got) { // the stack cannot be walked from there
        s.frames[s.depth++] = at;
        return s;
    }
    if (first + 2 < got && raw[first + 1] == restorer) first += 2;
    for (int i = first; i < got && s.depth < most_frames; ++i)
        s.frames[s.depth++] = reinterpret_cast<std::uint64_t>(raw[i]);
    return s;
}

bool open_notes(const char* path) noexcept {
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return false;
    void* at = MAP_FAILED;
    if (ftruncate(file, file_bytes) == 0)
        at = mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED) return false;
    header& h = header_in(static_cast<char*>(at));
    h.magic = magic;
    h.version = version;
    h.process = static_cast<std::uint32_t>(getpid());
    h.place_count = place_count;
    h.sample_count = sample_count;
    memory.store(static_cast<char*>(at),
                 std::memory_order_release); // pairs with the acquire loads in this file
    return true;
}

void close_notes() noexcept { memory.store(nullptr, std::memory_order_relaxed); }

bool is_noting() noexcept { return memory.load(std::memory_order_relaxed) != nullptr; }

header& notes_header() noexcept {
    return header_in(memory.load(std::memory_order_acquire)); // pairs with open_notes()
}

std::uint32_t note(state what, const stack& s, std::uint64_t ns, std::uint64_t object,
                   std::uint32_t holder) noexcept {
    char* const at = memory.load(std::memory_order_acquire); // pairs with open_notes()
    if (!at) return no_place;
    header& h = header_in(at);
    const std::uint32_t found = find_place(at, what, s);
    if (found == no_place) {
        h.lost.fetch_add(1, std::memory_order_relaxed);
        return no_place;
    }
    place& p = places_in(at)[found];
    p.times.fetch_add(1, std::memory_order_relaxed);
    p.ns.fetch_add(ns, std::memory_order_relaxed);
    std::uint64_t longest = p.longest.load(std::memory_order_relaxed);
    while (longest < ns && !p.longest.compare_exchange_weak(longest, ns, std::memory_order_relaxed)) {}
    p.object.store(object, std::memory_order_relaxed);
    if (holder != no_place) p.holder.store(holder, std::memory_order_relaxed);
    const std::uint64_t number = h.samples.fetch_add(1, std::memory_order_relaxed);
    if (number < sample_count)
        samples_in(at)[number] = {clock_ns(CLOCK_REALTIME), ns, static_cast<std::uint32_t>(gettid()), found};
    return found;
}

void note_kernel(std::uint32_t place, std::uint64_t faults, std::uint64_t system_ns) noexcept {
    char* const at = memory.load(std::memory_order_acquire); // pairs with open_notes()
    if (!at || place == no_place) return;
    struct place& p = places_in(at)[place];
    p.faults.fetch_add(faults, std::memory_order_relaxed);
    p.system_ns.fetch_add(system_ns, std::memory_order_relaxed);
}

void note_short(std::uint64_t ns) noexcept {
    char* const at = memory.load(std::memory_order_acquire); // pairs with open_notes()
    if (!at) return;
    header_in(at).short_times.fetch_add(1, std::memory_order_relaxed);
    header_in(at).short_ns.fetch_add(ns, std::memory_order_relaxed);
}

} // namespace weft::watch
