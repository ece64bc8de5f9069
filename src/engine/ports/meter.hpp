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

/// The operations of the runtime that take time on a modelled machine.
enum class operation : std::uint8_t { fork, spawn, start, suspend, wait, gate };

/// The source of the cache misses for requirements::own_misses, and of the instructions beside them. `none`:
/// the policy asks for neither.
enum class count_source : std::uint8_t { none, model, counters, declared, unknown };
std::string_view name_of(count_source) noexcept; ///< as reports and traces name it; empty for `none`

/// What tasks use and what the runtime's own work costs. An engine with real time leaves almost all of it
/// empty; the model engine fills it in.
struct meter {
    // Called for workers that are `observed`: the runtime was entered from user code, or is about to return
    // to it.
    virtual void user_code_ends(worker&) noexcept = 0;
    virtual void user_code_begins(worker&) noexcept = 0;

    // Called for workers that are `slow`.

    /// The operation takes place now. The worker is charged for it before its user code continues.
    virtual void charge(worker&, operation) noexcept {}
    /// The task is about to wait until some worker offers it again. A caller that knows what the task waits
    /// for, and for which object of this kind, calls waits_for() just before.
    virtual void waits(worker&, const task&, ready_reason) noexcept {}
    virtual void waits_for(worker&, const char* what, const void* which) noexcept {
        static_cast<void>(what), static_cast<void>(which);
    }
    /// The task was resumed after waits().
    virtual void resumed(worker&, const task&) noexcept {}

    // What programs declare: weft/declare.hpp.

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
    /// The memory node of the first byte of the data; -1: not known, or the byte has no page yet.
    virtual int home_of(const void* data, std::size_t bytes) const {
        return static_cast<void>(data), static_cast<void>(bytes), -1;
    }

    // Written before the trace file is begun.
    count_source misses_from = count_source::none;
    count_source instructions_from = count_source::none;

protected:
    ~meter() = default;
};

} // namespace weft::engine
