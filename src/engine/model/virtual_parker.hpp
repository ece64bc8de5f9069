#pragma once

namespace weft::engine {

struct model_worker;

/// Where a virtual worker sleeps: see sleeper.hpp of the threads engine, whose steps it has.
class virtual_parker {
public:
    explicit virtual_parker(model_worker& of) noexcept : of_(of) {}

    void arm() noexcept { armed_ = true; }
    void sleep();
    void disarm() noexcept { armed_ = false; }
    /// True if it was armed. Who slept goes on once it is awake.
    bool wake() noexcept;

private:
    model_worker& of_;
    bool armed_ = false;
    bool asleep_ = false;
};

} // namespace weft::engine
