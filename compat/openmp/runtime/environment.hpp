#pragma once

#include "runtime/settings.hpp"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Reading variables of the environment. A value that OpenMP does not know is reported (refuse()) and has no effect.
namespace weft::openmp {

/// Its value without blanks around it: what the program has given instead, or the environment's.
std::optional<std::string> variable(const char* name);

std::string trimmed(std::string_view);
std::string lower(std::string);
std::optional<long> number_of(const std::string& text);
/// The parts between commas, without blanks around them.
std::vector<std::string> parts_of(const std::string& list);
std::optional<binding> binding_named(const std::string& lower);

template <class Int>
bool read_number(const char* name, Int& to, long least, long most) {
    const auto v = variable(name);
    if (!v) return false;
    const auto n = number_of(*v);
    if (!n || *n < least || *n > most) {
        refuse(name, *v, "a whole number in the range that OpenMP allows");
        return false;
    }
    to = static_cast<Int>(*n);
    return true;
}

/// What libomp alone knows: KMP_*.
void read_kmp(process_settings&);
/// The level of places that libomp takes from a malformed OMP_PLACES.
std::string named_level(const std::string& text);

} // namespace weft::openmp
