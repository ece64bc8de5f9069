#pragma once

#include "engine/idle/sleep_protocol.hpp"
#include "engine/worker/arena.hpp"

namespace weft::engine {

/// The members as engines of their kind know them: what a watch needs.
template <class Worker>
struct members_as {
    arena& of;
    Worker* operator[](std::uint32_t r) const noexcept { return static_cast<Worker*>(of.members[r]); }
};

/// The watch of an arena.
template <class Worker>
class arena_sleep_protocol {
public:
    explicit arena_sleep_protocol(arena& a) noexcept
        : crew_{a}
        , steps_{a.searching, a.parked, crew_, a.active_count} {}
    arena_sleep_protocol(const arena_sleep_protocol&) = delete;
    arena_sleep_protocol& operator=(const arena_sleep_protocol&) = delete;

    sleep_protocol<const members_as<Worker>>* operator->() noexcept { return &steps_; }

private:
    const members_as<Worker> crew_;
    sleep_protocol<const members_as<Worker>> steps_;
};

} // namespace weft::engine
