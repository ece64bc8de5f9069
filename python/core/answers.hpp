#pragma once

#include "policy/hosted/hooks.hpp"

#include <nanobind/nanobind.h>

#include <string>

namespace weft {

// The answers of a policy's hooks, from Python. Each function throws nb::type_error, which names the hook, the value and
// what is allowed, for a value of a wrong type or a number beyond an int. What is right for the run, as which places
// there are, is checked by hosted::hosted_policy.

hosted::placed as_placed(const nanobind::object& answer);                            ///< of ready()
hosted::found as_found(const nanobind::object& answer);                              ///< of next()
std::optional<workers> as_workers(const nanobind::object& answer, const char* hook); ///< None: no value
std::string as_word(const nanobind::object& answer, const char* hook, const char* allowed);

bool as_truth(const nanobind::object& answer, const char* hook); ///< True or False

elastic_place as_elastic_place(const nanobind::object& answer); ///< of mold()

/// The attribute `most_width` of a policy: 0, or a width up to max_width.
int as_most_width(const nanobind::object& width);

/// The attribute `tick_ns` of a policy: 0, or more.
time_ns as_period(const nanobind::object& period);

/// The attribute `needs` of a policy.
requirements as_requirements(const nanobind::object& needs);

} // namespace weft
