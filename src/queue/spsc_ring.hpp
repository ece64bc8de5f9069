// A ring of fixed size between one writer and one reader. The writer never waits: it is told when there is no
// room.
//
//   word  | writer of it | order
//   head_ | the writer   | release, after the slot is written; the reader acquires it
//   tail_ | the reader   | release, after the slot is read; the writer acquires it before it writes there
//   again
#pragma once

#include "queue/sync.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::queue {

template <class T, class Sync = std_sync>
class spsc_ring {
public:
    using slot = typename Sync::template var<T>;

    // `slots` outlive the ring; their number is a power of two.
    spsc_ring(slot* slots, std::size_t count) noexcept : slots_(slots), count_(count) {}
    spsc_ring(const spsc_ring&) = delete;
    spsc_ring& operator=(const spsc_ring&) = delete;

    // The writer: there is room for so many, and perhaps for more; looks afresh if that is fewer than
    // `wanted`.
    std::size_t room(std::size_t wanted = 1) noexcept {
        if (free_ < wanted) {
            const auto tail = tail_.load(std::memory_order_acquire); // pairs with consume()
            free_ = count_ - static_cast<std::size_t>(at_ - tail);
        }
        return free_;
    }
    // The writer, if there is room().
    void push(const T& value) noexcept {
        slots_[at_ & (count_ - 1)].set(value);
        --free_;
        head_.store(++at_, std::memory_order_release); // pairs with consume()
    }
    // The writer: all that it has pushed so far.
    std::uint64_t pushed() const noexcept { return at_; }

    // The reader: take(value) for each value in order, until there is none or it returns false; that one
    // stays.
    template <class Take>
    void consume(Take&& take) noexcept {
        const auto head = head_.load(std::memory_order_acquire); // pairs with push()
        while (from_ != head && take(slots_[from_ & (count_ - 1)].get())) {
            ++from_;
            if ((from_ & (batch - 1)) == 0 || from_ == head)
                tail_.store(from_, std::memory_order_release); // pairs with room()
        }
        tail_.store(from_, std::memory_order_release); // as above
    }

private:
    static constexpr std::uint64_t batch = 256; // the writer gets room back in such pieces

    slot* const slots_;
    const std::size_t count_;
    alignas(k_cache_line_bytes) typename Sync::template atomic<std::uint64_t> head_{0};
    std::uint64_t at_ = 0; // the writer's
    std::size_t free_ = count_;
    alignas(k_cache_line_bytes) typename Sync::template atomic<std::uint64_t> tail_{0};
    std::uint64_t from_ = 0; // the reader's
};

} // namespace weft::queue
