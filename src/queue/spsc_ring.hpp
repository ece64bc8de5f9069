// A ring of fixed size between one writer and one reader. The writer never waits: it is told when there is no
// room.
//
//   word         | writer     | reader     | order
//   head_        | the writer | the reader | release, after the slot is written; acquire in consume()
//   tail_        | the reader | the writer | release, after the slot is read; acquire in room()
//   slots        | the writer | the reader | plain, ordered by head_ and tail_
//   at_, free_   | the writer | the writer | plain
//   from_        | the reader | the reader | plain
//
// I1: the values are those at the indexes [tail_, head_); index i lives in slot i modulo the number of slots.
// I2: a reader that reads head_ > i sees the slot of i.
// I3: the writer writes a slot again only after it has read a tail_ beyond the index that the slot held, so
//     the reader has read it.
#pragma once

#include "queue/cache_line.hpp"
#include "queue/sync.hpp"

#include <cstddef>
#include <cstdint>

namespace weft::queue {

template <class T, class Sync = std_sync>
class spsc_ring {
public:
    using slot = typename Sync::template var<T>;

    // `slots` outlive the ring; `count` is a power of two.
    spsc_ring(slot* slots, std::size_t count) noexcept : slots_(slots), count_(count) {}
    spsc_ring(const spsc_ring&) = delete;
    spsc_ring& operator=(const spsc_ring&) = delete;

    // The writer: the number of free slots that it knows of; there may be more. If it knows of fewer than
    // `wanted`, it reads the reader's progress first.
    std::size_t room(std::size_t wanted = 1) noexcept {
        if (free_ < wanted) {
            const auto tail =
                tail_.load(std::memory_order_acquire); // pairs with the stores in consume() (I3)
            free_ = count_ - static_cast<std::size_t>(at_ - tail);
        }
        return free_;
    }
    // The writer, if there is room().
    void push(const T& value) noexcept {
        slots_[at_ & (count_ - 1)].set(value);
        --free_;
        head_.store(++at_, std::memory_order_release); // pairs with the load in consume() (I2)
    }
    // The writer: the number of values that it has pushed so far.
    std::uint64_t pushed() const noexcept { return at_; }

    // The reader: calls take(value) for each value in order, until there is none or take returns false. The
    // value for which it returns false stays.
    template <class Take>
    void consume(Take&& take) noexcept {
        const auto head = head_.load(std::memory_order_acquire); // pairs with push() (I2)
        while (from_ != head && take(slots_[from_ & (count_ - 1)].get())) {
            ++from_;
            if ((from_ & (batch - 1)) == 0 || from_ == head)
                tail_.store(from_, std::memory_order_release); // pairs with room() (I3)
        }
        tail_.store(from_, std::memory_order_release); // pairs with room() (I3)
    }

private:
    static constexpr std::uint64_t batch = 256; // slots that the reader gives back at a time

    slot* const slots_;
    const std::size_t count_;
    alignas(k_cache_line_bytes) typename Sync::template atomic<std::uint64_t> head_{0};
    std::uint64_t at_ = 0; // of the writer: head_ (I1)
    std::size_t free_ = count_;
    alignas(k_cache_line_bytes) typename Sync::template atomic<std::uint64_t> tail_{0};
    std::uint64_t from_ = 0; // of the reader: tail_, before it gives slots back
};

} // namespace weft::queue
