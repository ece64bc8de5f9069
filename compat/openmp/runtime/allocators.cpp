#include "runtime/allocators.hpp"

#include "runtime/current.hpp"
#include "runtime/region.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace weft::openmp {

namespace {

// omp_alloctrait_key_t and omp_alloctrait_value_t
enum key : int { sync_hint = 1, alignment_key, access, pool_size, fallback, fb_data, pinned, partition };
constexpr std::uintptr_t trait_default = ~std::uintptr_t{0}, value_false = 0, value_true = 1;
constexpr std::uintptr_t default_mem_fb = 11, null_fb = 12, abort_fb = 13, allocator_fb = 14;
constexpr std::uintptr_t last_predefined = 102; // clang has some for devices, from 100 on

struct allocator {
    std::size_t alignment = 1;
    std::size_t limit = ~std::size_t{0};
    std::atomic<std::size_t> used{0}; ///< relaxed: only a sum
    std::uintptr_t on_failure = default_mem_fb;
    std::uintptr_t other = 0;
};

allocator* made_by_program(std::uintptr_t a) noexcept {
    return a > last_predefined ? reinterpret_cast<allocator*>(a) : nullptr;
}

/// In front of what the program gets.
struct header {
    void* block;
    std::size_t size;  ///< that the program has asked for
    std::size_t taken; ///< of the pool
    std::uintptr_t of;
};

std::uintptr_t or_default(std::uintptr_t a) noexcept { return a ? a : current_region().icv.allocator; }

bool take_from_pool(allocator& a, std::size_t n) noexcept {
    std::size_t used = a.used.load(std::memory_order_relaxed);
    do {
        if (n > a.limit || used > a.limit - n) return false;
    } while (!a.used.compare_exchange_weak(used, used + n, std::memory_order_relaxed));
    return true;
}

void* allocate_by(std::size_t alignment, std::size_t size, std::uintptr_t of) noexcept {
    allocator* const a = made_by_program(of);
    alignment = std::max({alignment, alignof(std::max_align_t), a ? a->alignment : std::size_t{1}});
    const std::size_t extra = sizeof(header) + alignment;
    const std::size_t all = size + extra;
    if (all < size) return nullptr;
    const std::size_t taken = a && a->limit != ~std::size_t{0} ? all : 0;
    if (taken && !take_from_pool(*a, taken)) return nullptr;
    auto* const block = static_cast<std::byte*>(std::malloc(all));
    if (!block) {
        if (taken) a->used.fetch_sub(taken, std::memory_order_relaxed);
        return nullptr;
    }
    const auto first = reinterpret_cast<std::uintptr_t>(block) + sizeof(header);
    auto* const at = reinterpret_cast<std::byte*>((first + alignment - 1) / alignment * alignment);
    ::new (at - sizeof(header)) header{block, size, taken, of};
    return at;
}

} // namespace

std::uintptr_t make_allocator(std::uintptr_t, int count, const allocator_trait* traits) {
    auto* const a = new (std::nothrow) allocator;
    if (!a) return 0;
    const auto refuse = [&] {
        delete a;
        return std::uintptr_t{0};
    };
    for (int i = 0; i < count; ++i) {
        const std::uintptr_t v = traits[i].value;
        if (v == trait_default && traits[i].key != pool_size) continue;
        switch (traits[i].key) {
        case alignment_key:
            if (v == 0 || (v & (v - 1)) != 0) return refuse();
            a->alignment = v;
            break;
        case pool_size: a->limit = v == trait_default ? ~std::size_t{0} : v; break;
        case fallback:
            if (v < default_mem_fb || v > allocator_fb) return refuse();
            a->on_failure = v;
            break;
        case fb_data: a->other = v; break;
        case pinned:
            if (v == value_true) return refuse(); // memory cannot be pinned here
            if (v != value_false) return refuse();
            break;
        case sync_hint:
        case access:
        case partition: break;
        default: return refuse();
        }
    }
    return reinterpret_cast<std::uintptr_t>(a);
}

void free_allocator(std::uintptr_t a) noexcept { delete made_by_program(a); }

void* allocate(std::size_t alignment, std::size_t size, std::uintptr_t of) noexcept {
    if (size == 0) return nullptr;
    for (std::uintptr_t a = or_default(of);;) {
        if (void* const p = allocate_by(alignment, size, a)) return p;
        const allocator* const own = made_by_program(a);
        if (!own) return nullptr;
        switch (own->on_failure) {
        case null_fb: return nullptr;
        case abort_fb:
            std::fprintf(stderr,
                         "weft: OpenMP: an allocator with the fallback abort cannot allocate %zu bytes\n",
                         size);
            std::abort();
        case allocator_fb: a = own->other; break;
        default: a = 1; break;
        }
    }
}

void* allocate_zeroed(std::size_t alignment, std::size_t count, std::size_t size,
                      std::uintptr_t of) noexcept {
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
    void* const p = allocate(alignment, bytes, of);
    if (p) std::memset(p, 0, bytes);
    return p;
}

void* reallocate(void* old, std::size_t size, std::uintptr_t of, std::uintptr_t) noexcept {
    if (!old) return allocate(1, size, of);
    if (size == 0) {
        deallocate(old);
        return nullptr;
    }
    const header h = static_cast<header*>(old)[-1];
    // What the old block has of its pool may be used for the new one.
    allocator* const pool = h.taken ? made_by_program(h.of) : nullptr;
    if (pool) pool->used.fetch_sub(h.taken, std::memory_order_relaxed);
    void* const p = allocate(1, size, of ? of : h.of);
    if (!p) {
        if (pool) pool->used.fetch_add(h.taken, std::memory_order_relaxed);
        return nullptr;
    }
    std::memcpy(p, old, std::min(size, h.size));
    std::free(h.block);
    return p;
}

void deallocate(void* p) noexcept {
    if (!p) return;
    const header h = static_cast<header*>(p)[-1];
    if (h.taken)
        if (allocator* const a = made_by_program(h.of)) a->used.fetch_sub(h.taken, std::memory_order_relaxed);
    std::free(h.block);
}

} // namespace weft::openmp
