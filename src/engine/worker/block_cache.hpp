#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace weft::engine {

/// Blocks of a few sizes for task records, one cache for each worker. A block may be given back to the cache
/// of another worker. Each cache is bounded and gives the rest to the global allocator, so no cache grows
/// without end.
class block_cache {
public:
    static constexpr std::size_t unit = 64, classes = 16,
                                 keep = 64; ///< blocks up to unit * classes bytes are cached

    block_cache() = default;
    block_cache(const block_cache&) = delete;
    block_cache& operator=(const block_cache&) = delete;
    ~block_cache() {
        for (auto& c : classes_)
            while (c.free) {
                node* n = c.free;
                c.free = n->next;
                ::operator delete(n);
            }
    }

    /// A block of at least `bytes` bytes. Rounds `bytes` up to the size that give() must be told.
    void* take(std::size_t& bytes) {
        const std::size_t c = (bytes + unit - 1) / unit;
        bytes = c * unit;
        if (c <= classes)
            if (auto& kept = classes_[c - 1]; kept.free) {
                node* n = kept.free;
                kept.free = n->next;
                --kept.count;
                return n;
            }
        return ::operator new(bytes);
    }

    void give(void* block, std::size_t bytes) noexcept {
        const std::size_t c = bytes / unit;
        if (c <= classes)
            if (auto& kept = classes_[c - 1]; kept.count < keep) {
                kept.free = ::new (block) node{kept.free};
                ++kept.count;
                return;
            }
        ::operator delete(block);
    }

private:
    struct node {
        node* next;
    };
    struct list {
        node* free = nullptr;
        std::size_t count = 0;
    };
    std::array<list, classes> classes_{};
};

} // namespace weft::engine
