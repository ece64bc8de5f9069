#pragma once

namespace weft::engine {

/// While it is in the list, `finish(of)` is called when the process ends by exit() or by leaving main: no destructor
/// of the default runtime ever runs.
class at_exit {
public:
    at_exit() = default;
    ~at_exit() { leave(); }
    at_exit(const at_exit&) = delete;
    at_exit& operator=(const at_exit&) = delete;

    void enter(void (*finish)(void* of) noexcept, void* of);
    void leave() noexcept;

private:
    static void finish_all() noexcept;

    void (*finish_)(void*) noexcept = nullptr; ///< null: not in the list
    void* of_ = nullptr;
    at_exit *next_ = nullptr, *previous_ = nullptr; ///< of the list, guarded by process_lock()
};

} // namespace weft::engine
