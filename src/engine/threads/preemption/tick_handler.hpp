#pragma once

#include <ucontext.h>

/// The handler of the tick, which all engines of the process share.
namespace weft::engine {

/// One more engine, or one less, needs it.
void take_tick_handler() noexcept;
void give_back_tick_handler() noexcept;
/// In the calling thread, whichever mask it has inherited.
void allow_tick() noexcept;
/// Whether a tick has interrupted the handler before it holds ticks away, or after that, up to the end of the code to which
/// the handler returns. Which code was interrupted first is not known then: it may be malloc (Y5).
bool is_in_tick_handler(const ucontext_t& interrupted, const void* returns_to) noexcept;

} // namespace weft::engine
