#pragma once

#include "queue/cell.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

/// One word for each task, by the task's identity: what one iteration has measured, for later iterations.
///
/// Open addressing in a table that never grows, since hooks allocate nothing. A task that finds no place
/// within the reach of a probe is not stored. For the policy it is a task that was never measured.
namespace weft {

class id_table {
public:
    explicit id_table(int bits = 16)
        : mask_((std::size_t{1} << bits) - 1)
        , entries_(std::make_unique<entry[]>(mask_ + 1)) {}

    /// Callable by any worker. An identity of 0 means none, and is not stored. A value of 0 is stored as 1,
    /// since find() returns 0 for what is not there.
    void insert(std::uint64_t id, std::uint64_t value) noexcept {
        if (id == 0) return;
        for (std::size_t i = 0; i < reach; ++i) {
            entry& e = at(id, i);
            std::uint64_t found = e.id.load_acquire(); // pairs with the exchange below
            if (found == 0 && e.id.compare_exchange(found, id)) found = id;
            if (found != id) continue;
            return e.value.store_release(value == 0 ? 1 : value); // pairs with the load of find()
        }
    }

    /// The word of that task; 0 if it is not there, or is just being written.
    std::uint64_t find(std::uint64_t id) const noexcept {
        if (id == 0) return 0;
        for (std::size_t i = 0; i < reach; ++i) {
            const entry& e = at(id, i);
            const std::uint64_t found = e.id.load_acquire(); // pairs with the exchange of insert()
            if (found == id) return e.value.load_acquire();  // pairs with the store of insert()
            if (found == 0) return 0;
        }
        return 0;
    }

private:
    static constexpr std::size_t reach = 64;
    struct entry {
        queue::cell<std::uint64_t> id, value;
    };
    entry& at(std::uint64_t id, std::size_t i) const noexcept { return entries_[(id + i) & mask_]; }

    std::size_t mask_;
    std::unique_ptr<entry[]> entries_;
};

} // namespace weft
