#pragma once

#include "queue/spin_lock.hpp"
#include "task/sanitizers.hpp"

#include <array>
#include <cstddef>
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
    void release() noexcept {
        while (count > 0) ::operator delete(pop());
    }
};

struct block_sizes {
    static constexpr std::size_t unit = 64, classes = 16; ///< blocks up to unit * classes bytes are kept
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
        for (shelf& s : shelves_)
            while (s.count > 0) s.chains[--s.count].release();
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
        chain.release();
    }

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
        for (two_chains& kept : kept_) {
            kept.now.release();
            kept.spare.release();
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
        return kept.now.count > 0 ? kept.now.pop() : ::operator new(bytes);
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
