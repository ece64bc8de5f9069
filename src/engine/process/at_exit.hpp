#pragma once

namespace weft::engine {

/// An entry of the list of what is finished at the end of the process. If the process ends by exit() or by a
/// return from main while the entry is in the list, `finish(of)` is called. It is needed because no
/// destructor of the default runtime ever runs.
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
    at_exit *next_ = nullptr, *previous_ = nullptr; ///< the list, guarded by process_lock()
};

} // namespace weft::engine
