// Which of several programs has a core that another one lends: claims in words that all of them read, each written by its
// own program alone. README.md, "Claims", has the protocol and its proof (U1 to U3). No program waits for another one, and
// one that dies at any step stops none, if the board takes no claim of a dead program for one.
//
// A Board has, for one program and one core,
//   rivals look()     reads the claims of all other programs anew, relaxed
//   void claim()      writes the program's own claim, relaxed
//   void withdraw()   takes it back, relaxed; the program has left the core before
// so that the fence here is all that orders them. The real board is a directory of files (lending_board.hpp).
#pragma once

#include "queue/sync.hpp"

#include <cstdint>

namespace weft::share {

/// Whether other programs claim the core: none, only programs that come after this one in the order of all programs, or at
/// least one that comes before it.
enum class rivals : std::uint8_t { none, later, earlier };

/// held: the program has the core. waits: its claim stands, and it must not use the core yet. refused: it has no claim.
enum class claimed : std::uint8_t { held, waits, refused };

template <class Sync>
struct core_claims {
    /// Requires: the program has no claim to the core.
    template <class Board>
    static claimed take(Board& board) {
        if (board.look() != rivals::none) return claimed::refused;
        board.claim();
        // Between this program's claim and its look at the others': pairs with the same fence of each of them (U1).
        Sync::fence(std::memory_order_seq_cst);
        return confirm(board);
    }

    /// Looks whether a claim that stands has become one that holds. Requires: take() has answered `waits`.
    template <class Board>
    static claimed confirm(Board& board) {
        switch (board.look()) {
        case rivals::none: return claimed::held;
        case rivals::later: return claimed::waits; // the other one withdraws, unless it has the core (U2)
        case rivals::earlier: break;
        }
        board.withdraw();
        return claimed::refused;
    }
};

} // namespace weft::share
