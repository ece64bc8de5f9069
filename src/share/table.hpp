#pragma once

#include "share/table_layout.hpp"
#include "share/word_file.hpp"

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace weft::share {

/// The table of the programs on a machine: a directory with a file of the daemon and one of each program. README.md has the
/// files, their owners and modes. Reading never waits for another process, and no content of a file makes it throw.
class table {
public:
    /// As the daemon. If there is a table whose daemon is gone, it is taken over with its slots and its period. Throws
    /// weft::error if another daemon has it, or the directory is not this user's alone to write.
    static table create(const std::string& path, int slots, std::int64_t period);
    /// As a reader. Throws weft::error if there is no table.
    static table open(const std::string& path);

    const std::string& path() const noexcept { return path_; }
    int slots() const noexcept { return head_.slots; }
    std::int64_t period() const noexcept { return head_.period; } ///< ns
    bool is_adopted() const noexcept { return is_adopted_; }

    // Of the daemon; the others throw weft::error for a reader.
    /// Makes a new slot file for a program of this user. Returns the program's WEFT_SHARE.
    std::string prepare(int slot, uid_t user);
    void release(int slot);
    /// False, and nothing is written, if its generation is below the table's.
    bool publish(table_numbers);
    void remove();
    void close() noexcept; ///< the files stay

    // Of readers and of the daemon.
    table_reading read();
    slot_reading read(int slot, std::int64_t now, std::int64_t timeout);

private:
    table(std::string path, word_file directory) noexcept;

    void lock();
    void make(int slots, std::int64_t period);
    void check_slot(int slot) const;
    void check_daemon() const;
    void remove_slots() noexcept;
    std::string name_of_file(const std::string& name) const { return path_ + "/" + name; }

    std::string path_;
    word_file directory_, lock_, file_;
    table_head head_{};
    bool is_adopted_ = false;
    std::uint64_t generation_ = 0; ///< in force
};

} // namespace weft::share
