#pragma once

#include "engine/ports/meter.hpp"
#include "machine/machine.hpp"

#include <cstddef>

namespace weft::engine {

/// What tasks on real threads use: their own time and, for requirements::own_misses, the processor's counters
/// or, where there are none, the lines that a task declares. It charges nothing, since time passes by itself.
struct thread_meter final : meter {
    explicit thread_meter(const machine& on) noexcept : on_(on) {}

    void user_code_ends(worker&) noexcept override;
    void user_code_begins(worker&) noexcept override;
    void declare_cost(worker&, std::uint64_t cycles, work) noexcept override;
    void declare_data(worker&, const void* data, std::size_t bytes, access) noexcept override;
    int home_of(const void* data, std::size_t bytes) const override;

private:
    const machine& on_;
};

} // namespace weft::engine
