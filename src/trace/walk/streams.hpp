#pragma once

#include "trace/write/record.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::trace {

/// The records of each stream, and how far the walk has come in it. The streams of the workers have the
/// workers' ranks; the last stream is `outside`. Records of other streams are left out.
class streams {
public:
    streams(std::span<const record> records, int workers);

    std::size_t size() const noexcept { return all_.size(); }
    std::size_t workers() const noexcept { return all_.size() - 1; }

    /// Indexes into the records, in the order of the file.
    std::span<const std::uint32_t> of(std::size_t s) const noexcept { return all_[s].records; }

    bool has_next(std::size_t s) const noexcept { return all_[s].next < all_[s].records.size(); }
    std::uint32_t next_index(std::size_t s) const noexcept { return all_[s].records[all_[s].next]; }
    const record& next(std::size_t s) const noexcept { return records_[next_index(s)]; }

    /// Time of the last record that the walk has passed. Within a stream time does not go back: a record that
    /// is stamped earlier than the one before it (only `ready` is) counts as simultaneous with that one.
    std::int64_t now(std::size_t s) const noexcept { return all_[s].now; }
    std::int64_t time_of_next(std::size_t s) const noexcept {
        return std::max(now(s), static_cast<std::int64_t>(next(s).at));
    }

    void delay(std::size_t s, std::int64_t until) noexcept { all_[s].now = std::max(all_[s].now, until); }
    void pass(std::size_t s) noexcept {
        all_[s].now = time_of_next(s);
        ++all_[s].next;
    }

private:
    struct stream {
        std::vector<std::uint32_t> records{};
        std::size_t next = 0;
        std::int64_t now = 0;
    };

    const std::span<const record> records_;
    std::vector<stream> all_;
};

} // namespace weft::trace
