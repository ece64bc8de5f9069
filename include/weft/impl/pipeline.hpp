#pragma once

#include <weft/hints.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

/// What a pipeline is for the library, which knows nothing of the types of its items.
namespace weft::impl {

enum class stage_kind : std::uint8_t { parallel, serial, serial_in_order };

/// A stage without its types. `items` is the memory of a token: it holds one item at a time, that of the stage
/// whose turn is next.
struct stage_body {
    stage_kind kind{};
    hints hint{};
    /// Calls the stage's function with the item of the stage before, and leaves the result in its place. Of the first
    /// stage: false if there is no further item. If it throws, the item is as it was before, perhaps moved from.
    bool (*run)(void* pipeline, void* items) = nullptr;
    /// Destroys the item that waits for this stage. Of the first stage: null.
    void (*drop)(void* items) noexcept = nullptr;
};

/// The tokens of a pipeline, and its runs: the part that is no template.
class pipeline_core {
public:
    pipeline_core(void* pipeline, std::span<const stage_body> stages, std::size_t item_bytes,
                  std::size_t item_align);
    ~pipeline_core();
    pipeline_core(const pipeline_core&) = delete;
    pipeline_core& operator=(const pipeline_core&) = delete;

    void run(std::size_t tokens);
    void cancel() noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace weft::impl
