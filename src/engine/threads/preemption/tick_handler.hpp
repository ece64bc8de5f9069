#pragma once

/// The handler of the tick, which all engines of the process share.
namespace weft::engine {

/// One more engine, or one less, needs it.
void take_tick_handler() noexcept;
void give_back_tick_handler() noexcept;
/// In the calling thread, whichever mask it has inherited.
void allow_tick() noexcept;

} // namespace weft::engine
