#pragma once

namespace weft::engine {

struct engine;

/// While it is in the list, an engine's files are finished when the process ends by exit() or by leaving
/// main: nobody destroys the default runtime.
class at_exit {
public:
    at_exit() = default;
    ~at_exit() { leave(); }
    at_exit(const at_exit&) = delete;
    at_exit& operator=(const at_exit&) = delete;

    void enter(engine&);
    void leave() noexcept;

private:
    static void finish_all() noexcept;

    engine* of_ = nullptr;
    at_exit *next_ = nullptr, *previous_ = nullptr; // of the list, guarded by process_lock()
};

} // namespace weft::engine
