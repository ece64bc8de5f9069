#pragma once

namespace weft::engine {
struct engine;

/// The engine of the default runtime, made at first use. src/api, which reads the environment, provides it.
engine& default_engine();
} // namespace weft::engine
