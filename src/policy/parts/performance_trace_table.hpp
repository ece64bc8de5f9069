#pragma once

#include "policy/parts/elastic_places.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

/// What tasks took where: a time for each type of task, leader and width.
///
///   XiTAO (elastic_places.hpp), section 3.1: saved = (4 * old + new) / 5, by the leader alone, after each execution. A
///   time of 0 has never been measured, so that each configuration is tried once.
///
/// The first measurement is stored as it is; by the formula, which `literal` keeps, it would look five times as fast as it
/// is. A type is the task's hints::name, all tasks without a name being one type. Types beyond most_types are not kept:
/// their times stay 0.
///
///   word  | writer                                      | readers     | order
///   name  | the worker that meets a type first, by CAS  | any worker  | acq_rel; the value itself is the message
///   time  | the leader of the row                       | any worker  | relaxed: a figure that guards nothing
namespace weft {

class performance_trace_table {
public:
    static constexpr int most_types = 256, most_widths = 7; // up to max_width
    static_assert(1 << (most_widths - 1) == max_width);
    static constexpr int no_type = -1;

    /// Allocates: for policy::attach.
    void attach(int workers, bool literal) {
        workers_ = workers;
        literal_ = literal;
        names_ = std::make_unique<queue::cell<std::uint64_t>[]>(most_types);
        rows_ =
            std::make_unique<row[]>(static_cast<std::size_t>(most_types) * static_cast<std::size_t>(workers));
    }

    /// The number of a type, which is given out at its first use.
    int type_of(std::string_view name) noexcept {
        const std::uint64_t wanted = hash(name);
        for (int probe = 0; probe < most_types; ++probe) {
            const auto i = static_cast<int>((wanted + static_cast<std::uint64_t>(probe)) % most_types);
            auto& slot = names_[static_cast<std::size_t>(i)];
            std::uint64_t found = slot.load_acquire(); // pairs with the exchange below
            if (found == 0 && slot.compare_exchange(found, wanted)) found = wanted;
            if (found == wanted) return i;
        }
        return no_type;
    }

    /// Nanoseconds; 0: never measured.
    time_ns time(int type, elastic_place at) const noexcept {
        return type == no_type ? 0 : cell_of(type, at).load_relaxed();
    }

    /// By the worker that was the leader.
    void update(int type, elastic_place at, time_ns took) noexcept {
        if (type == no_type) return;
        auto& saved = cell_of(type, at);
        const time_ns old = saved.load_relaxed();
        if (took < 1) took = 1; // 0 means something else
        saved.store_relaxed(old == 0 && !literal_ ? took : (4 * old + took) / 5);
    }

private:
    struct alignas(queue::k_cache_line_bytes) row { // of a type and a leader
        std::array<queue::cell<time_ns>, most_widths> by_width;
    };

    static std::uint64_t hash(std::string_view name) noexcept { // FNV-1a; never 0
        std::uint64_t sum = 14695981039346656037U;
        for (const char c : name) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211U;
        return sum | 1;
    }
    queue::cell<time_ns>& cell_of(int type, elastic_place at) const noexcept {
        const auto r = static_cast<std::size_t>(type) * static_cast<std::size_t>(workers_) +
                       static_cast<std::size_t>(at.leader);
        return rows_[r].by_width[static_cast<std::size_t>(log2_of_width(at.width))];
    }

    int workers_ = 0;
    bool literal_ = false;
    std::unique_ptr<queue::cell<std::uint64_t>[]> names_;
    std::unique_ptr<row[]> rows_;
};

} // namespace weft
