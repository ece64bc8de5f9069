#pragma once

#include <functional>
#include <string>

/// What a modelled runtime does whose tasks wait for each other for ever. For replays; no part of the interface.
namespace weft::impl {

/// While one lives, a modelled runtime that this thread makes calls the handler instead of ending the process. The
/// tasks stay where they are: a thread that waits for them waits to the end of the process, and the runtime must
/// not be destroyed. The handler runs on the model's thread, once for a runtime, with the report.
class deadlock_scope {
public:
    using handler = std::function<void(const std::string& report)>;
    explicit deadlock_scope(handler);
    ~deadlock_scope();
    deadlock_scope(const deadlock_scope&) = delete;
    deadlock_scope& operator=(const deadlock_scope&) = delete;

    /// Of this thread; empty if there is none.
    static handler current();

private:
    handler outer_;
};

} // namespace weft::impl
