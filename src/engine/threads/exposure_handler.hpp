#pragma once

namespace weft::engine {

/// While an object of this class exists, the process has the handler of the exposure signal. The default of
/// that signal is to be ignored, so one that comes too late does nothing.
class exposure_handler {
public:
    exposure_handler();
    ~exposure_handler();
    exposure_handler(const exposure_handler&) = delete;
    exposure_handler& operator=(const exposure_handler&) = delete;
};

/// Unblocks the exposure signal in the calling thread, whatever mask the thread inherited.
void allow_exposure_signal() noexcept;

} // namespace weft::engine
