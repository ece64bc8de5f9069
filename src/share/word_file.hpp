#pragma once

#include "queue/sync.hpp"
#include "share/sequence_lock.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <sys/types.h>

namespace weft::share {

/// An open file of this room: a head that does not change, a sequence number, words. The medium of a sequence lock. Read and
/// written by pread and pwrite and never mapped: another process that truncates the file cannot kill the reader by SIGBUS.
class word_file {
public:
    static constexpr std::size_t head_bytes = 64;

    word_file() noexcept = default;
    explicit word_file(int file) noexcept : file_(file) {}
    word_file(word_file&& from) noexcept : file_(from.file_) { from.file_ = -1; }
    word_file& operator=(word_file&&) noexcept;
    ~word_file();

    bool is_open() const noexcept { return file_ >= 0; }
    int file() const noexcept { return file_; }

    /// False: it is shorter.
    bool read_head(std::span<std::byte, head_bytes>) const noexcept;

    std::uint64_t number() noexcept; ///< 1, as if a writer were inside, if it cannot be read
    void set_number(std::uint64_t) noexcept;
    bool read(std::span<std::uint64_t>) noexcept;
    void write(std::span<const std::uint64_t>) noexcept;
    /// One word, which stands for itself: the kernel copies eight aligned bytes in one step.
    void write_word(std::size_t index, std::uint64_t) noexcept;

private:
    int file_ = -1;
};

/// `what`, with the reason of the last system call that failed.
std::string failure_text(const char* what);

/// Why a file could not be opened as one of this room; empty: it was.
struct opened {
    word_file file{};
    std::string why{};
    bool is_missing = false;
};

/// Opens a regular file of exactly `bytes` in a directory, without following links and without waiting.
opened open_words(int directory, const char* name, bool writable, std::size_t bytes);

/// Writes a new file of zeros behind its head and gives it to `user`; a file of this name is replaced by it. Throws
/// weft::error. `shown`: its path, for the message.
void make_words(int directory, const std::string& name,
                std::span<const std::byte, word_file::head_bytes> head, std::size_t bytes, uid_t user,
                const std::string& shown);

using file_lock = sequence_lock<queue::std_sync>;

/// Tries to read a consistent copy. A writer is inside for some microseconds, ten times a second.
inline constexpr int most_tries = 100;

} // namespace weft::share
