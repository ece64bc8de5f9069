#pragma once

namespace weft::engine {
struct engine;

/// The engine of the default runtime, made at first use. src/api, which reads the environment, provides it.
/// That of the default runtime. If it cannot be made, says why and ends the program with status 2.
engine& default_engine();
} // namespace weft::engine
