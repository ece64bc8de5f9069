#pragma once

/// Samples of what threads do on their cores: each thread gets a timer of its processor time, whose signal notes the
/// stack. A thread that is blocked gets none, so no call of the program is interrupted while it waits.

namespace weft::watch {

/// Sets the signal's handler. Returns false if the program cannot be sampled: another handler was there before.
bool begin_sampling() noexcept;

/// Samples the calling thread until it ends.
void sample_this_thread() noexcept;

} // namespace weft::watch
