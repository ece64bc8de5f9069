#include "share/word_file.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::share {

namespace {

constexpr off_t number_at = word_file::head_bytes;
constexpr off_t words_at = number_at + static_cast<off_t>(sizeof(std::uint64_t));

[[noreturn]] void throw_no_words(const std::string& shown, int failure) {
    throw error(fmt::format("a file of shared numbers cannot be made ({})", std::strerror(failure)), shown,
                "a directory in shared memory that belongs to this user, with room");
}

bool write_all(int file, const void* from, std::size_t bytes, off_t at) noexcept {
    ssize_t done = 0;
    do { done = pwrite(file, from, bytes, at); } while (done < 0 && errno == EINTR);
    return done == static_cast<ssize_t>(bytes);
}

bool read_all(int file, void* to, std::size_t bytes, off_t at) noexcept {
    ssize_t done = 0;
    do { done = pread(file, to, bytes, at); } while (done < 0 && errno == EINTR);
    return done == static_cast<ssize_t>(bytes);
}

} // namespace

std::string failure_text(const char* what) { return fmt::format("{} ({})", what, std::strerror(errno)); }

word_file& word_file::operator=(word_file&& from) noexcept {
    std::swap(file_, from.file_);
    return *this;
}

word_file::~word_file() {
    if (file_ >= 0) close(file_);
}

bool word_file::read_head(std::span<std::byte, head_bytes> head) const noexcept {
    return read_all(file_, head.data(), head.size(), 0);
}

std::uint64_t word_file::number() noexcept {
    std::uint64_t value = 1;
    return read_all(file_, &value, sizeof value, number_at) ? value : 1;
}

// A write can fail only if the file was cut or the process may write no files (RLIMIT_FSIZE). Readers then see that nothing
// new comes.
void word_file::set_number(std::uint64_t value) noexcept {
    write_all(file_, &value, sizeof value, number_at);
}

bool word_file::read(std::span<std::uint64_t> words) noexcept {
    return read_all(file_, words.data(), words.size_bytes(), words_at);
}

void word_file::write(std::span<const std::uint64_t> words) noexcept {
    write_all(file_, words.data(), words.size_bytes(), words_at);
}

void word_file::write_word(std::size_t index, std::uint64_t word) noexcept {
    write_all(file_, &word, sizeof word, words_at + static_cast<off_t>(index * sizeof word));
}

opened open_words(int directory, const char* name, bool writable, std::size_t bytes) {
    opened result;
    // O_NONBLOCK: neither a pipe nor a lease that its owner keeps can make the reader wait (F3).
    const int flags = (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    word_file file(openat(directory, name, flags));
    if (!file.is_open()) {
        result.is_missing = errno == ENOENT;
        result.why = fmt::format("it cannot be opened: {}", std::strerror(errno));
        return result;
    }
    struct stat is{};
    if (fstat(file.file(), &is) != 0 || !S_ISREG(is.st_mode)) {
        result.why = "it is no regular file";
    } else if (is.st_size != static_cast<off_t>(bytes)) {
        result.why = fmt::format("it has {} bytes and not {}", is.st_size, bytes);
    } else {
        result.file = std::move(file);
    }
    return result;
}

void make_words(int directory, const std::string& name,
                std::span<const std::byte, word_file::head_bytes> head, std::size_t bytes, uid_t user,
                const std::string& shown) {
    // Made under another name: a file that has the name is whole (F2).
    const std::string made = name + ".new";
    unlinkat(directory, made.c_str(), 0);
    const word_file file(
        openat(directory, made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open()) throw_no_words(shown, errno);
    std::vector<std::byte> content(bytes);
    std::memcpy(content.data(), head.data(), head.size());
    const auto refuse = [&](int failure) {
        unlinkat(directory, made.c_str(), 0);
        throw_no_words(shown, failure);
    };
    // All of it is written: no later write finds the memory full.
    if (!write_all(file.file(), content.data(), content.size(), 0)) refuse(errno ? errno : ENOSPC);
    if (user != geteuid() && fchown(file.file(), user, static_cast<gid_t>(-1)) != 0) refuse(errno);
    if (fchmod(file.file(), 0644) != 0) refuse(errno); // F1
    if (renameat(directory, made.c_str(), directory, name.c_str()) != 0) refuse(errno);
}

} // namespace weft::share
