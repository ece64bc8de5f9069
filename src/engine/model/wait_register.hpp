#pragma once

#include "policy/seam/policy.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace weft::engine {

/// Which tasks wait, and for what: for the report of a program that is deadlocked.
class wait_register {
public:
    void add(const task&, ready_reason, const char* what, const void* which, time_ns since);
    void remove(const task& t) { waiting_.erase(&t); }

    /// A line for each task, in the order in which they came to wait.
    std::string to_string() const;

private:
    struct entry {
        std::uint64_t order;
        time_ns since;
        ready_reason reason;
        const char* what; ///< null: unknown
        const void* which;
    };

    std::map<const task*, entry> waiting_; ///< never iterated: the order of addresses differs between runs
    std::uint64_t next_ = 0;
};

} // namespace weft::engine
