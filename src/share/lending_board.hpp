#pragma once

#include "share/core_claims.hpp"
#include "share/lending_layout.hpp"
#include "share/word_file.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::share {

/// Another program on the board.
struct lending_peer {
    std::string file_name{};
    lending_head head{};
    word_file file{};
    word_file process{}; ///< a pidfd
    std::vector<std::uint64_t> words{};

    home_word home(int worker) const noexcept { return home_of(words[static_cast<std::size_t>(worker)]); }
    claim_word claim(int guest) const noexcept {
        return claim_of(words[static_cast<std::size_t>(head.workers + guest)]);
    }
};

/// A core of other programs, as the last look has found it.
struct lent_core {
    std::int64_t lender = 0; ///< 0: none lends it, or a worker of a program is awake on it
    std::uint64_t generation = 0;

    bool is_lent() const noexcept { return lender != 0; }
    bool operator==(const lent_core&) const = default;
};

/// The programs of one user that lend cores to each other: a directory with a file of each. README.md, "Lending", has the
/// rules. Reading never waits for another process, and no content of a file makes it fail.
class lending_board {
public:
    /// The directory for the programs of this user: /dev/shm/weft-lend-UID.
    static std::string usual_directory();
    /// Whether a runtime of this process is on a board.
    static bool is_joined() noexcept;

    /// As a program. Empty if a runtime of this process is on a board already. Throws weft::error if the directory cannot be
    /// used.
    static std::optional<lending_board> join(const std::string& directory, int workers, int guests);
    /// As a reader. Throws weft::error if there is no such directory.
    static lending_board watch(const std::string& directory);

    lending_board(lending_board&&) noexcept;
    lending_board& operator=(lending_board&&) = delete;
    ~lending_board() { leave(); }

    /// Removes the program's file. It takes part no more.
    void leave() noexcept;
    /// Removes the file alone, as the process ends, while its other threads go on.
    void remove_file() const noexcept;

    /// Of the worker with this number, which alone calls it.
    void set_home(int worker, const home_word& w) noexcept { set_word(worker, pack(w)); }
    /// Of one thread of the program.
    void set_claim(int guest, const claim_word& w) noexcept { set_word(head_.workers + guest, pack(w)); }

    /// Reads what all other programs say. Files of programs that have ended are removed.
    void look();
    const std::vector<lending_peer>& peers() const noexcept { return peers_; }
    /// By the last look.
    lent_core core(int cpu) const noexcept;
    /// Reads anew which other programs claim the core.
    rivals rivals_for(int cpu);

private:
    lending_board(std::string path, word_file directory) noexcept;

    void set_word(int index, std::uint64_t word) noexcept {
        file_.write_word(static_cast<std::size_t>(index), word);
    }
    bool is_own() const noexcept;
    void find_programs();
    void add_program(const std::string& name);
    void forget_ended();
    bool is_before(const lending_head& other) const noexcept;

    std::string path_;
    word_file directory_, file_;
    std::string name_{}; ///< of the program's own file; empty: a reader
    lending_head head_{};
    std::vector<lending_peer> peers_{};
    std::int64_t listed_ =
        -1; ///< time of the directory's last change when it was listed, ns; -1: it is to be listed again
    std::vector<lent_core> cores_{}; ///< by number
};

} // namespace weft::share
