#pragma once

#include <nanobind/nanobind.h>

#include <memory>

namespace weft {

/// While an object of this class lives, the policy named `name` is made by `make`: a callable that returns a
/// weft.policy.Policy. For modelled machines only, whose workers are one thread. One object at a time in the
/// process; made and destroyed with the interpreter's lock held.
class python_policies {
public:
    static constexpr const char* name = "python";

    explicit python_policies(nanobind::object make);
    ~python_policies();
    python_policies(const python_policies&) = delete;
    python_policies& operator=(const python_policies&) = delete;

    /// Throws the first exception of a hook of its policies. From then on their tasks were run first in, first
    /// out, so that the program came to its end.
    void rethrow() const;

    struct state;

private:
    std::unique_ptr<state> state_;
};

} // namespace weft
