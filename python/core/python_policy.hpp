#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

namespace weft {

/// While it lives, the policy named `name` is what `make` makes: a callable that returns a
/// weft.policy.Policy. For modelled machines only, whose workers are one thread. One at a time in the
/// process; made and destroyed with the interpreter's lock held.
class python_policies {
public:
    static constexpr const char* name = "python";

    explicit python_policies(nanobind::object make);
    ~python_policies();
    python_policies(const python_policies&) = delete;
    python_policies& operator=(const python_policies&) = delete;

    /// Throws what the first of its policies' hooks has thrown. From then on its tasks were run first in,
    /// first out, so that the program came to its end.
    void rethrow() const;

    struct state;

private:
    std::unique_ptr<state> state_;
};

/// Task, Group and Context of weft._core.
void bind_policies(nanobind::module_& m);

} // namespace weft
