// A sequence lock over words in a medium that several processes see: one writer, any number of readers that never wait
// for it. README.md has the protocol and its proof (K1 to K3). Not here: the single writer is the caller's duty.
//
// A Medium has
//   std::uint64_t number()                      reads the sequence number, relaxed
//   void set_number(std::uint64_t)              writes it, relaxed
//   bool read(std::span<std::uint64_t>)         reads the words, relaxed; false: they are not all there
//   void write(std::span<const std::uint64_t>)  writes them, relaxed
// so that the fences here are all that orders them. The real medium is a file (word_file.hpp).
#pragma once

#include "queue/sync.hpp"

#include <cstdint>
#include <span>

namespace weft::share {

enum class copied : std::uint8_t { whole, torn, cut };

template <class Sync>
class sequence_lock {
public:
    /// By the writer alone. A writer that died inside left an odd number; the next one goes on from it.
    template <class Medium>
    static void write(Medium& medium, std::span<const std::uint64_t> words) {
        const std::uint64_t odd = medium.number() | 1;
        announce(medium, odd);
        medium.write(words);
        publish(medium, odd + 1);
    }

    /// Tries `tries` times to copy the words of one write. Torn: a writer was inside each time, or died there.
    template <class Medium>
    static copied read(Medium& medium, std::span<std::uint64_t> words, int tries) {
        for (; tries > 0; --tries) {
            const std::uint64_t before = medium.number();
            if (before % 2 == 0) {
                see_words_of_number();
                if (!medium.read(words)) return copied::cut;
                see_number_of_words();
                if (medium.number() == before) return copied::whole;
            }
            Sync::pause();
        }
        return copied::torn;
    }

private:
    template <class Medium>
    static void announce(Medium& medium, std::uint64_t odd) {
        medium.set_number(odd);
        // Pairs with see_number_of_words(): a reader that has a word of this write finds this number or a later one.
        Sync::fence(std::memory_order_release);
    }
    template <class Medium>
    static void publish(Medium& medium, std::uint64_t even) {
        // Pairs with see_words_of_number(): a reader that has this number finds the words of this write or later ones.
        Sync::fence(std::memory_order_release);
        medium.set_number(even);
    }
    static void see_words_of_number() { Sync::fence(std::memory_order_acquire); } // pairs with publish()
    static void see_number_of_words() { Sync::fence(std::memory_order_acquire); } // pairs with announce()
};

} // namespace weft::share
