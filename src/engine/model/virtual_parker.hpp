#pragma once

namespace weft::engine {

struct model_worker;

/// Where a virtual worker sleeps. It has the steps of threads/parker.hpp.
class virtual_parker {
public:
    explicit virtual_parker(model_worker& of) noexcept : of_(of) {}

    void arm() noexcept { armed_ = true; }
    void sleep();
    void disarm() noexcept { armed_ = false; }
    bool is_asleep() const noexcept { return asleep_; }
    /// True if the parker was armed. A worker that slept resumes after the time that waking takes.
    bool wake() noexcept;

private:
    model_worker& of_;
    bool armed_ = false;
    bool asleep_ = false;
};

} // namespace weft::engine
