#include "runtime/reductions.hpp"

#include "runtime/tasks.hpp"
#include "runtime/team.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace weft::openmp {

namespace {

enum word : std::size_t {
    number = 0,
    bytes = 1,
    memory = 2,
    next = 4,
    is_head = 5,
    memory_end = 6,
    entries = 7
};
constexpr std::size_t words_of_entry = 3;

std::uintptr_t* block_at(std::uintptr_t address) noexcept {
    return reinterpret_cast<std::uintptr_t*>(address);
}

std::uintptr_t allocate(std::size_t alignment, std::size_t size) {
    const std::size_t a = std::max(alignment, sizeof(void*)),
                      n = (std::max<std::size_t>(size, 1) + a - 1) / a * a;
    void* const p = std::aligned_alloc(a, n);
    if (!p) throw std::bad_alloc();
    std::memset(p, 0, n);
    return reinterpret_cast<std::uintptr_t>(p);
}

struct place {
    const std::uintptr_t* block;
    std::size_t entry;
};

/// The innermost reduction of that variable.
bool find_original(const std::uintptr_t* set, std::uintptr_t address, place& found) noexcept {
    for (const std::uintptr_t* b = set; b; b = block_at(b[next]))
        for (std::size_t i = 0; i < b[number]; ++i)
            if (b[entries + i * words_of_entry] == address) {
                found = {b, i};
                return true;
            }
    return false;
}

/// The reduction of which the address is a private copy.
bool find_copy(const std::uintptr_t* set, std::uintptr_t address, place& found) noexcept {
    for (const std::uintptr_t* b = set; b; b = block_at(b[next])) {
        if (address < b[memory] || address >= b[memory_end]) continue;
        const std::uintptr_t offset = (address - b[memory]) % b[bytes];
        for (std::size_t i = 0; i < b[number]; ++i)
            if (b[entries + i * words_of_entry + 1] == offset) {
                found = {b, i};
                return true;
            }
    }
    return false;
}

} // namespace

void register_reductions(std::uintptr_t* set, const std::uintptr_t* like, int threads,
                         std::uintptr_t* around) {
    for (std::uintptr_t* b = set;; b = block_at(b[next])) {
        if (like) {
            b[memory] = like[memory];
            b[memory_end] = like[memory_end];
            like = block_at(like[next]);
        } else {
            const std::size_t size = b[bytes] * static_cast<std::size_t>(threads);
            b[memory] = allocate(b[memory], size);
            b[memory_end] = b[memory] + size;
        }
        b[is_head] = b == set;
        if (b[next] != 0) continue;
        b[next] = reinterpret_cast<std::uintptr_t>(around);
        return;
    }
}

void unregister_reductions(std::uintptr_t* set) noexcept {
    for (std::uintptr_t* b = set; b && (b == set || !b[is_head]); b = block_at(b[next]))
        std::free(reinterpret_cast<void*>(b[memory]));
}

void discard_reductions(std::uintptr_t* set) noexcept {
    std::uintptr_t* last = set;
    for (std::uintptr_t* b = set; b && (b == set || !b[is_head]); b = block_at(b[next])) {
        std::free(reinterpret_cast<void*>(b[memory]));
        last = b;
    }
    last[next] = 0;
}

void remap_reductions(const region& me, std::size_t count, std::size_t originals, void** addresses) {
    const std::uintptr_t* const set = me.group ? me.group->reductions : nullptr;
    const auto thread = static_cast<std::uintptr_t>(me.on->number);
    for (std::size_t i = 0; i < count; ++i) {
        const auto address = reinterpret_cast<std::uintptr_t>(addresses[i]);
        place found{};
        if (!find_original(set, address, found) && !find_copy(set, address, found)) {
            std::fprintf(stderr,
                         "weft: OpenMP: no task_reduction, or reduction with the modifier task, for %p\n",
                         addresses[i]);
            std::abort();
        }
        const std::uintptr_t* const entry = found.block + entries + found.entry * words_of_entry;
        addresses[i] = reinterpret_cast<void*>(found.block[memory] + thread * found.block[bytes] + entry[1]);
        if (i < originals) addresses[count + i] = reinterpret_cast<void*>(entry[0]);
    }
}

} // namespace weft::openmp
