#include "trace/write/trace_file.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>
#include <zlib.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace weft::trace {

static_assert(std::endian::native == std::endian::little, "records are written as they lie in memory");

namespace {

constexpr char magic[8] = {'w', 'e', 'f', 't', 't', 'r', 'c', '\n'};
constexpr std::uint32_t block_mark = 0x4b4c4257; // "WBLK"
constexpr std::size_t enough = std::size_t{1} << 20;

struct block_head {
    std::uint32_t mark = block_mark;
    std::uint16_t type = 0, stream = 0;
    std::uint32_t bytes = 0;
    std::uint32_t checksum = 0; ///< CRC-32 of the fields above and of the bytes behind the head
};
static_assert(sizeof(block_head) == 16);

void append(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(from);
    to.insert(to.end(), first, first + bytes);
}

std::uint32_t checksum_of(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept {
    return static_cast<std::uint32_t>(
        crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

} // namespace

trace_file::trace_file(std::string path, std::string_view header) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
        throw error(fmt::format("the trace cannot be written ({})", std::strerror(errno)),
                    "WEFT_TRACE=" + path_, "a file that can be created");
    std::string text(header);
    text.append((8 - text.size() % 8) % 8, ' ');
    const std::uint32_t of_format = version, bytes = static_cast<std::uint32_t>(text.size());
    const std::uint32_t checksum = checksum_of(std::as_bytes(std::span(text)));
    append(waiting_, magic, sizeof magic);
    append(waiting_, &of_format, sizeof of_format);
    append(waiting_, &bytes, sizeof bytes);
    append(waiting_, &checksum, sizeof checksum);
    append(waiting_, "\0\0\0", 4);
    append(waiting_, text.data(), text.size());
    flush();
}

trace_file::~trace_file() { ::close(descriptor_); }

void trace_file::add(block type, std::uint16_t stream, std::span<const std::byte> bytes) noexcept {
    if (failed_ || bytes.empty()) return;
    try {
        block_head head;
        head.type = static_cast<std::uint16_t>(type);
        head.stream = stream;
        head.bytes = static_cast<std::uint32_t>(bytes.size());
        const auto of_head = std::as_bytes(std::span(&head, 1)).first<offsetof(block_head, checksum)>();
        head.checksum = checksum_of(bytes, checksum_of(of_head));
        append(waiting_, &head, sizeof head);
        append(waiting_, bytes.data(), bytes.size());
    } catch (const std::bad_alloc&) {
        waiting_.clear(); // no block is written in part
        failed_ = true;
        std::fprintf(stderr, "weft: no memory to write the trace %s any further\n", path_.c_str());
        return;
    }
    if (waiting_.size() >= enough) flush();
}

void trace_file::flush() noexcept {
    if (!failed_) write(waiting_);
    waiting_.clear();
}

void trace_file::write(std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
        if (done < 0) {
            if (errno == EINTR) continue;
            failed_ = true;
            std::fprintf(stderr, "weft: the trace %s cannot be written any further: %s\n", path_.c_str(),
                         std::strerror(errno));
            return;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

} // namespace weft::trace
