#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::trace {

/// A trace that is being written: docs/trace-format.md. What was flushed can be read, whatever happens to the
/// process later. For one thread at a time.
class trace_file {
public:
    static constexpr std::uint32_t version = 3;

    enum class block : std::uint16_t { records = 1, names = 2, end = 3, places = 4 };

    /// `header`: a JSON object. Throws weft::error if the file cannot be made.
    trace_file(std::string path, std::string_view header);
    ~trace_file(); ///< does not flush()
    trace_file(const trace_file&) = delete;
    trace_file& operator=(const trace_file&) = delete;

    /// Once writing has failed, does nothing. The failure is reported once, on standard error.
    void add(block, std::uint16_t stream, std::span<const std::byte>) noexcept;
    void flush() noexcept;
    bool has_failed() const noexcept { return failed_; }
    const std::string& path() const noexcept { return path_; }

private:
    void write(std::span<const std::byte>) noexcept;

    const std::string path_;
    int descriptor_ = -1;
    bool failed_ = false;
    std::vector<std::byte> waiting_;
};

} // namespace weft::trace
