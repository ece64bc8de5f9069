#pragma once

#include <nanobind/nanobind.h>

namespace weft {

/// While an object of this class lives, the calling thread runs a hook of a policy in Python, or makes or attaches the
/// policy. The engine stands in the middle of a step meanwhile: it answers the policy's questions, but no other thread's,
/// and this thread cannot run another engine on top of it.
class hook_scope {
public:
    hook_scope() noexcept { ++depth(); }
    ~hook_scope() { --depth(); }
    hook_scope(const hook_scope&) = delete;
    hook_scope& operator=(const hook_scope&) = delete;

    static bool is_open() noexcept { return depth() > 0; }

    /// Throws if the calling thread is in a hook: `function` runs an engine.
    static void refuse(const char* function);

private:
    static int& depth() noexcept {
        static thread_local int open = 0;
        return open;
    }
};

} // namespace weft
