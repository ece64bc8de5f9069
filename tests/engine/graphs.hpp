#pragma once

#include <weft/error.hpp>

#include "engine/support.hpp"

#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/mman.h>

/// Helpers of the tests of graphs, of the gate and of teams.
namespace weft::test::graphs {

// clang-format off
inline const std::vector<std::string> policies = in_turn(
    {"steal", "steal:zone=reported", "steal-parent-first", "share", "cab:socket=2,boundary=2", "static", "chaos:of=steal", "locality"},
    {"steal", "near", "share", "steal-parent-first", "steal:zone=reported", "serial", "cab:socket=2,boundary=2", "static", "dynamic",
     "constrained", "chaos:of=steal", "locality", "socket", "slaw", "mts", "pws", "hws", "hws:l=1,leader=helps", "pdf", "cpdf",
     "ml-steal", "sb"});
// clang-format on

/// ThreadSanitizer has nothing to find in virtual time, where one thread runs the whole model.
inline const std::vector<std::string> engines =
    thread_sanitized ? std::vector<std::string>{"threads"} : std::vector<std::string>{"threads", "model"};

/// Four packages of four cores each. With real threads the machine is fictitious.
inline runtime_options with(const std::string& policy, int workers, const std::string& engine = "threads") {
    runtime_options o;
    o.policy = policy;
    o.workers = workers;
    o.engine = engine;
    o.seed = 1;
    if (engine == "model") {
        o.machine = WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml";
    } else {
        o.machine = "pack:4 l3:1 core:4 pu:1";
        o.pin = "off";
    }
    return o;
}

inline void for_each(const std::function<void(const std::string& policy, const std::string& engine)>& f) {
    for (const auto& engine : engines)
        for (const auto& policy : policies) {
            SCOPED_TRACE(policy + " " + engine);
            f(policy, engine);
            if (testing::Test::HasFailure()) return;
        }
}

/// The name of a new file with this text. The file is in memory, so nothing of it remains when the process
/// ends.
inline std::string file_with(const std::string& text) {
    const int file = ::memfd_create("weft-graphs", MFD_CLOEXEC);
    const std::string name = "/proc/self/fd/" + std::to_string(file);
    if (!(std::ofstream(name) << text << std::flush))
        throw std::system_error(errno, std::generic_category(), name);
    return name;
}

/// The message of the exception that `f` throws.
template <class F>
std::string message_of(F&& f) {
    try {
        std::forward<F>(f)();
    } catch (const error& e) { return e.what(); }
    return "nothing was thrown";
}

} // namespace weft::test::graphs
