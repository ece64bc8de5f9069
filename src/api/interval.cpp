#include "api/interval.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>

namespace weft::api {

std::optional<std::chrono::nanoseconds> parse_interval(std::string_view text) {
    std::int64_t n = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (bad != std::errc{} || n < 0 || n > 1'000'000'000) return std::nullopt;
    if (unit == "us") return std::chrono::microseconds(n);
    if (unit == "ms") return std::chrono::milliseconds(n);
    if (unit == "s") return std::chrono::seconds(n);
    return std::nullopt;
}

} // namespace weft::api
