#pragma once

namespace weft::engine {
struct engine;

/// The engine of the default runtime, made at first use. Provided by the room above, which knows the
/// environment.
engine& default_engine();
} // namespace weft::engine
