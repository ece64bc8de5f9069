#pragma once

#include "share/slot_layout.hpp"
#include "share/table_layout.hpp"

#include <optional>
#include <string_view>

namespace weft::share {

/// The slot that a process has, and what the table wishes of it. README.md. Nothing here waits for another process, and
/// nothing fails after the claim: if the files are removed, what is published has no reader.
class slot_writer {
public:
    /// `spec`: the value of WEFT_SHARE, "<path of the table>:<slot>". Empty if another process has the slot, or it is gone
    /// or damaged: a program's children inherit the variable, and may come when daemon and program have ended. If the
    /// value is not the daemon's (given_variable), the latter is said on stderr once a process. Throws
    /// weft::error if the value names no slot of a table, or one that belongs to another user.
    static std::optional<slot_writer> claim(std::string_view spec);

    /// Publishes; pid, start and time are filled in.
    void publish(slot_numbers) noexcept;
    /// The number of active workers that the table wishes; 0: none, or the daemon has not been there for some time.
    int wish() noexcept;
    std::int64_t period() const noexcept { return head_.period; } ///< ns

private:
    slot_writer(word_file lock, word_file slot, word_file table, int number, const table_head&) noexcept;

    word_file lock_; ///< locked as long as it is open
    word_file slot_, table_;
    int number_;
    table_head head_;
    std::int64_t pid_, start_;
    std::vector<std::uint64_t> words_; ///< of the table
};

/// The daemon sets it to the value of WEFT_SHARE. (Not named WEFT_..., since a Weft that does not know it would refuse it.)
inline constexpr char given_variable[] = "COSCHED_SLOT";

/// Names of files in the directory of a table.
inline constexpr char table_name[] = "table", daemon_lock_name[] = "lock";
std::string slot_name(int slot);
std::string slot_lock_name(int slot);

} // namespace weft::share
