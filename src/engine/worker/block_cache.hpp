#pragma once

#include "queue/page_memory.hpp"
#include "queue/spin_lock.hpp"
#include "task/sanitizers.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

/// Blocks of a few sizes for task records: a cache for each worker, and a depot for all of an engine. The
/// worker that runs a stolen task frees its record, so blocks gather with thieves while the worker that adds
/// tasks runs out of them. They go back through the depot, a chain at a time:
///
///   J. Bonwick, J. Adams: Magazines and vmem. USENIX ATC 2001.
///
/// Caches and depot are bounded and give the rest to the global allocator.
namespace weft::engine {

/// Free blocks of one size, linked through themselves.
struct block_chain {
    struct node {
        node* next;
    };
    static constexpr std::size_t full = 32; ///< blocks

    node* first = nullptr;
    std::size_t count = 0;

    void push(void* block) noexcept {
        first = ::new (block) node{first};
        ++count;
    }
    void* pop() noexcept {
        --count;
        return std::exchange(first, first->next);
    }
};

struct block_sizes {
    static constexpr std::size_t unit = 64, classes = 16; ///< blocks up to unit * classes bytes are kept
};

/// Blocks cut from pages of its own, for an engine that preempts tasks: a preempted task may hold the lock of the global
/// allocator until it runs again, and what the engine does until then must not wait for that lock, neither to allocate
/// nor to free (Y5). Once it is used, all blocks come from here, and all come back to here; the pages are kept until the
/// end.
class block_pages : public block_sizes {
public:
    block_pages() = default;
    block_pages(const block_pages&) = delete;
    block_pages& operator=(const block_pages&) = delete;
    ~block_pages() {
        while (header* const h = first_.load(std::memory_order_relaxed)) { // no other thread is left
            first_.store(h->next, std::memory_order_relaxed);
            give_large(h, region_bytes);
        }
    }
    /// Frees the blocks that came from the global allocator. The last call.
    void free_others() noexcept {
        for (block_chain& kept : free_)
            for (block_chain all = std::exchange(kept, {}); all.count > 0;)
                if (void* const block = all.pop(); !has(block)) ::operator delete(block);
    }

    bool are_used() const noexcept { return used_.load(std::memory_order_relaxed); }
    void use() noexcept { used_.store(true, std::memory_order_relaxed); }

    /// A block of `c` units. Throws std::bad_alloc.
    void* take(std::size_t c) {
        const std::lock_guard guard(lock_);
        if (block_chain& kept = free_[c - 1]; kept.count > 0) return kept.pop();
        header* const now = first_.load(std::memory_order_relaxed);
        if (!now || left_ < c * unit) {
            auto* const made = static_cast<header*>(take_large(region_bytes));
            made->next = now;
            at_ = reinterpret_cast<std::byte*>(made) + unit;
            left_ = region_bytes - unit;
            first_.store(made, std::memory_order_release); // pairs with the load in has()
        }
        left_ -= c * unit;
        return std::exchange(at_, at_ + c * unit);
    }
    bool has(const void* block) const noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(block);
        for (const header* h = first_.load(std::memory_order_acquire); h; h = h->next)
            if (at - reinterpret_cast<std::uintptr_t>(h) < region_bytes) return true;
        return false;
    }
    void give(std::size_t c, void* block) noexcept {
        const std::lock_guard guard(lock_);
        free_[c - 1].push(block);
    }

    /// Larger blocks, of pages that go back to the system. Throws std::bad_alloc.
    static void* take_large(std::size_t bytes) {
        void* const pages = queue::page_memory::allocate(bytes);
        if (!pages) throw std::bad_alloc();
        sanitizer::add_roots(pages, bytes);
        return pages;
    }
    static void give_large(void* block, std::size_t bytes) noexcept {
        sanitizer::remove_roots(block, bytes);
        queue::page_memory::release(block, bytes);
    }

private:
    struct header {
        header* next;
    };
    static constexpr std::size_t region_bytes = std::size_t{1} << 20;

    sanitizer::announced_lock lock_;      ///< for the blocks too: see block_depot
    std::atomic<bool> used_{false};       ///< relaxed: blocks of both origins may be in use at once
    std::atomic<header*> first_{nullptr}; ///< written under the lock
    std::byte* at_ = nullptr;             ///< of the first region; guarded by the lock, as the next two
    std::size_t left_ = 0;
    std::array<block_chain, classes> free_{};
};

/// Full chains. Any thread. A program with ThreadSanitizer has its closures in these blocks, and does not see the lock, so
/// what was done in a block is announced to come before its next use.
class block_depot : public block_sizes {
public:
    static constexpr std::size_t keep = 64; ///< chains of a size

    block_depot() = default;
    block_depot(const block_depot&) = delete;
    block_depot& operator=(const block_depot&) = delete;
    ~block_depot() {
        for (std::size_t c = 1; c <= classes; ++c)
            for (shelf& s = shelves_[c - 1]; s.count > 0;) release(c, s.chains[--s.count]);
        pages.free_others();
    }

    /// Of blocks of `c` units; empty if there is none.
    block_chain take(std::size_t c) noexcept {
        shelf& s = shelves_[c - 1];
        const std::lock_guard guard(s.lock);
        sanitizer::happens_after(&s);
        return s.count > 0 ? s.chains[--s.count] : block_chain{};
    }
    void give(std::size_t c, block_chain chain) noexcept {
        shelf& s = shelves_[c - 1];
        {
            const std::lock_guard guard(s.lock);
            sanitizer::happens_before(&s);
            if (s.count < keep) {
                s.chains[s.count++] = chain;
                return;
            }
        }
        release(c, chain);
    }

    /// A block of `c` units from the memory where the depot gets its blocks.
    void* allocate(std::size_t c) { return pages.are_used() ? pages.take(c) : ::operator new(c * unit); }
    void release(std::size_t c, block_chain chain) noexcept {
        while (chain.count > 0) { give_back(c, chain.pop()); }
    }
    void give_back(std::size_t c, void* block) noexcept {
        if (pages.are_used())
            pages.give(c, block);
        else
            ::operator delete(block);
    }

    block_pages pages{};

private:
    struct shelf {
        queue::spin_lock<> lock;
        std::size_t count = 0; ///< guarded by the lock, as the chains
        std::array<block_chain, keep> chains{};
    };
    std::array<shelf, classes> shelves_{};
};

/// Of one worker, which alone touches it. A block may be given to the cache of another worker.
class block_cache : public block_sizes {
public:
    explicit block_cache(block_depot& depot) noexcept : depot_(depot) {}
    block_cache(const block_cache&) = delete;
    block_cache& operator=(const block_cache&) = delete;
    ~block_cache() {
        for (std::size_t c = 1; c <= classes; ++c) {
            depot_.release(c, kept_[c - 1].now);
            depot_.release(c, kept_[c - 1].spare);
        }
    }

    /// A block of at least `bytes` bytes. Rounds `bytes` up to the size that give() must be told.
    void* take(std::size_t& bytes) {
        const std::size_t c = (bytes + unit - 1) / unit;
        bytes = c * unit;
        if (c > classes) return ::operator new(bytes);
        two_chains& kept = kept_[c - 1];
        if (kept.now.count == 0) [[unlikely]]
            kept.now = kept.spare.count > 0 ? std::exchange(kept.spare, {}) : depot_.take(c);
        return kept.now.count > 0 ? kept.now.pop() : depot_.allocate(c);
    }

    void give(void* block, std::size_t bytes) noexcept {
        const std::size_t c = bytes / unit;
        if (c > classes) return ::operator delete(block);
        two_chains& kept = kept_[c - 1];
        if (kept.now.count == block_chain::full) [[unlikely]] {
            if (kept.spare.count > 0) depot_.give(c, kept.spare);
            kept.spare = std::exchange(kept.now, {});
        }
        kept.now.push(block);
    }

private:
    /// With two, a worker that alternately takes and gives a block at the end of a chain does not go to the
    /// depot each time.
    struct two_chains {
        block_chain now, spare; ///< spare: full or empty
    };
    block_depot& depot_;
    std::array<two_chains, classes> kept_{};
};

} // namespace weft::engine
