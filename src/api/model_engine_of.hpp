#pragma once

namespace weft {

class runtime;

namespace engine {
struct model_engine;
}

namespace api {

/// The engine of a runtime on a modelled machine; null for a runtime with threads.
engine::model_engine* model_engine_of(runtime&) noexcept;

} // namespace api
} // namespace weft
