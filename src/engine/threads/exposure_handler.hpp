#pragma once

namespace weft::engine {

/// As long as one lives, the process handles the signal for exposure, whose default is to be ignored: one
/// that comes too late does nothing.
class exposure_handler {
public:
    exposure_handler();
    ~exposure_handler();
    exposure_handler(const exposure_handler&) = delete;
    exposure_handler& operator=(const exposure_handler&) = delete;
};

/// In the calling thread, whatever mask it inherited: the signal is let in.
void allow_exposure_signal() noexcept;

} // namespace weft::engine
