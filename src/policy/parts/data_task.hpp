#pragma once

#include "policy/parts/data_allocator.hpp"

#include <cstdint>

/// What LAWS keeps of a task, in the bytes that the engine gives a policy. They are zero at first.
///
/// Written by the worker that spawns or puts the task, and by the head that takes it: one at a time. The
/// policy decides on `is` and `socket`; triple_level_stealing.hpp goes by them.
namespace weft {

struct data_task {
    enum class kind : std::uint8_t {
        unknown, ///< of no iterated program: stolen at random
        above,   ///< the program's root, and what is above the CF roots
        spread,  ///< of a socket, each by itself
        packed,  ///< a CF root, and what comes to light from below it
    };

    interval data;
    std::int32_t entry; ///< of the profile + 1; 0: none
    std::int16_t socket;
    kind is;
    bool frame;    ///< no task that the policy has placed
    bool starts;   ///< of a root whose data are allocated without iterations
    bool iterated; ///< the root that owns the profile
    bool counted;  ///< a root that counts in iterated_program::count()
};

} // namespace weft
