#include "machine/read_file.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {

namespace {

struct descriptor {
    int of;
    explicit descriptor(const std::filesystem::path& file) noexcept
        : of(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    } // a pipe without a writer opens, too
    ~descriptor() {
        if (of >= 0) ::close(of);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
};

} // namespace

std::string read_file(const std::filesystem::path& file, std::string_view what, std::string_view allowed,
                      std::string_view variable) {
    const auto refuse = [&](std::string_view why) {
        return error(fmt::format("{} {}", what, why), fmt::format("{}{}", variable, file.string()), allowed);
    };
    const auto refused_by_system = [&](int reason) {
        return refuse(reason == ENOENT ? "not found"
                                       : fmt::format("cannot be read ({})", std::strerror(reason)));
    };
    const descriptor in(file);
    struct stat is{};
    if (in.of < 0 || fstat(in.of, &is) != 0) throw refused_by_system(errno);
    if (!S_ISREG(is.st_mode))
        throw refuse(S_ISDIR(is.st_mode) ? "is no file, but a folder" : "is no file, but a device or a pipe");
    const std::string too_large = fmt::format("is too large: more than {} MiB", most_file_bytes >> 20);
    if (static_cast<std::size_t>(is.st_size) > most_file_bytes) throw refuse(too_large);
    std::string text(std::max<std::size_t>(static_cast<std::size_t>(is.st_size), 4096), '\0');
    for (std::size_t have = 0;;) { // to its end: files of the system say that they have 0 bytes
        if (have == text.size()) text.resize(2 * text.size());
        const ssize_t got = ::read(in.of, text.data() + have, text.size() - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw refused_by_system(errno);
        have += static_cast<std::size_t>(got);
        if (have > most_file_bytes) throw refuse(too_large);
        if (got > 0) continue;
        text.resize(have);
        return text;
    }
}

} // namespace weft
