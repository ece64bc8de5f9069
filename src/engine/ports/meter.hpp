#pragma once

#include "policy/seam/policy.hpp"
#include "task/task.hpp"

#include <weft/declare.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::impl {
struct worker;
}

namespace weft::engine {

using impl::worker;

/// What the runtime does for a program, where that takes time on a modelled machine.
enum class operation : std::uint8_t { fork, spawn, start, suspend, wait, gate };

/// What requirements::own_misses and the instructions beside them are metered by; `none`: the policy asked for
/// neither.
enum class count_source : std::uint8_t { none, model, counters, declared, unknown };
std::string_view name_of(count_source) noexcept; ///< as in reports and traces; empty for `none`

/// What tasks use and what the runtime's own work costs. An engine whose time is real leaves almost all of it empty; the
/// model engine fills it in.
struct meter {
    /// Of workers that are `observed`: the runtime was entered from user code, or is about to return to it.
    virtual void user_code_ends(worker&) noexcept = 0;
    virtual void user_code_begins(worker&) noexcept = 0;

    // Of workers that are `slow`.
    /// The operation is taking place. The worker pays for it before its user code continues.
    virtual void charge(worker&, operation) noexcept {}
    /// The task is about to wait until some worker offers it again, and was resumed. The caller that knows what it
    /// waits for, and for which one of these, tells it just before by waits_for().
    virtual void waits(worker&, const task&, ready_reason) noexcept {}
    virtual void waits_for(worker&, const char* what, const void* which) noexcept {
        static_cast<void>(what), static_cast<void>(which);
    }
    virtual void resumed(worker&, const task&) noexcept {}

    // See weft/declare.hpp.
    virtual void declare_cost(worker&, std::uint64_t cycles, work) noexcept { static_cast<void>(cycles); }
    virtual void declare_transfer(worker&, std::size_t disk, std::size_t bytes) noexcept {
        static_cast<void>(disk), static_cast<void>(bytes);
    }
    virtual void declare_data(worker&, const void* data, std::size_t bytes, access) noexcept {
        static_cast<void>(data), static_cast<void>(bytes);
    }
    virtual void declare_home(const void* data, std::size_t bytes, std::optional<int> node) {
        static_cast<void>(data), static_cast<void>(bytes), static_cast<void>(node);
    }
    /// The memory node where the first byte of the data lies; -1: unknown, or no page is there yet.
    virtual int home_of(const void* data, std::size_t bytes) const {
        return static_cast<void>(data), static_cast<void>(bytes), -1;
    }

    count_source misses_from = count_source::none; ///< set before there is a file, as the next one
    count_source instructions_from = count_source::none;

protected:
    ~meter() = default;
};

} // namespace weft::engine
