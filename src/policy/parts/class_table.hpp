#pragma once

#include "queue/cell.hpp"

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>

/// Numbers for the classes of tasks (task_class.hpp), given out as the classes come. Any worker reads and adds.
///
///   word | writer                                       | readers    | order
///   key  | the worker that meets a class first, by CAS  | any worker | relaxed: the value itself is the message, and is written once
namespace weft {

class class_table {
public:
    using class_id = int;
    static constexpr class_id no_class = -1;

    /// Room for 2^bits classes. Allocates: for policy::attach.
    explicit class_table(int bits = 8)
        : mask_((1U << static_cast<unsigned>(bits)) - 1)
        , keys_(std::make_unique<queue::cell<std::uint64_t>[]>(std::size_t{mask_} + 1)) {}

    int capacity() const noexcept { return static_cast<int>(mask_) + 1; } ///< all numbers are below
    std::uint64_t key_of(class_id c) const noexcept {
        return keys_[static_cast<std::size_t>(c)].load_relaxed();
    } ///< 0: no class has that number

    /// The class of that key, class_of() of a task, which is added if it is new; no_class if the table is full.
    class_id find_or_add(std::uint64_t key) noexcept {
        assert(key != 0);
        for (std::uint64_t i = 0; i <= mask_; ++i) {
            const auto c = static_cast<std::size_t>((key + i) & mask_);
            std::uint64_t found = keys_[c].load_relaxed();
            if (found == 0 && keys_[c].compare_exchange(found, key)) found = key;
            if (found == key) return static_cast<class_id>(c);
        }
        return no_class;
    }
    /// The class of that key; no_class if it was never added.
    class_id find(std::uint64_t key) const noexcept {
        for (std::uint64_t i = 0; i <= mask_; ++i) {
            const auto c = static_cast<class_id>((key + i) & mask_);
            const std::uint64_t found = key_of(c);
            if (found == key) return c;
            if (found == 0) break;
        }
        return no_class;
    }

private:
    const std::uint64_t mask_;
    const std::unique_ptr<queue::cell<std::uint64_t>[]> keys_;
};

} // namespace weft
