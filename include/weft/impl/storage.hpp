#pragma once

#include <weft/impl/element_list.hpp>
#include <weft/impl/hot.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

/// What weft::per_worker keeps: one element for each *owner*, which is a worker, or a thread that is no worker. An owner is
/// known by an address that no other worker or thread has as long as it exists. Each owner belongs to one of several
/// lists: element_list.hpp has the protocol.
namespace weft::impl {

/// Values of different owners are kept this far apart.
inline constexpr std::size_t line_bytes = 64;

/// What every element begins with, on a line of its own: other owners read it while they search.
struct stored {
    const void* owner = nullptr;
    int rank = -1;           ///< of the worker; -1: a thread that is no worker
    stored* below = nullptr; ///< the element that was in front of the list before
    stored* next = nullptr;  ///< in the order of iterations; guarded by the lock
};

class storage {
public:
    storage() noexcept = default;
    storage(const storage&) = delete;
    storage& operator=(const storage&) = delete;

    /// The element of the caller; null if it has none.
    stored* find() const noexcept {
        const void* owner = hot_self();
        if (!owner) [[unlikely]]
            owner = owner_outside();
        return find(owner);
    }
    /// Adds `made` as the element of the caller, and returns it; if the caller has one already, returns that one.
    stored& add(stored& made) noexcept;

    // Must not run at the same time as add(): the order is by rank, then by time of adding.
    stored* first() const noexcept { return first_; }
    std::size_t size() const noexcept { return size_; }
    /// Forgets all elements, and returns the first.
    stored* release() noexcept;

private:
    static constexpr unsigned log2_lists = 6;

    static std::size_t list_of(const void* owner) noexcept {
        constexpr std::uint64_t golden = 0x9e37'79b9'7f4a'7c15; // 2^64 / the golden ratio: spreads addresses
        return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(owner) * golden) >>
                                        (64 - log2_lists));
    }
    stored* find(const void* owner) const noexcept {
        return element_list<stored>::find(lists_[list_of(owner)], owner);
    }
    static const void* owner_outside() noexcept;

    std::array<std::atomic<stored*>, std::size_t{1} << log2_lists> lists_{};
    stored* first_ = nullptr;
    std::size_t size_ = 0;
    std::uint32_t lock_ = 0; // storage of a queue::spin_lock
};

} // namespace weft::impl
