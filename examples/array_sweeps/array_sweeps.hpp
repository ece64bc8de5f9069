// Each thread goes through an array of its own again and again: what a preempted thread finds in the caches when it goes on.
//
//   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. 2021, section 3.3.1.
#pragma once

#include "../common/random.hpp"
#include "../common/team.hpp"

#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace examples {

struct sweep_settings {
    std::size_t threads = 2, kbytes = 1024, sweeps = 100;
    bool writes = false; // each sweep adds 1 to every number, too
};

class array_sweeps {
public:
    array_sweeps(const sweep_settings& s, std::uint64_t seed)
        : settings_(s)
        , arrays_(s.threads)
        , sums_(s.threads) {
        for (std::size_t t = 0; t < s.threads; ++t) {
            arrays_[t].resize(s.kbytes * 1024 / sizeof(std::uint64_t));
            for (std::size_t i = 0; i < arrays_[t].size(); ++i) arrays_[t][i] = random_at(seed + t, i);
        }
    }

    // In a task of the runtime. If the arrays are written, once.
    void run(weft::preemption type) {
        run_team(settings_.threads, meeting::weft, type,
                 [this](const team_member& me) { sums_[me.rank].of = sweep(arrays_[me.rank]); });
    }

    // Compared with what the sums must be by a formula, modulo 2^64.
    bool is_right(std::uint64_t seed) const {
        const std::uint64_t k = settings_.sweeps;
        for (std::size_t t = 0; t < settings_.threads; ++t) {
            const std::uint64_t n = arrays_[t].size();
            std::uint64_t once = 0;
            for (std::size_t i = 0; i < n; ++i) once += random_at(seed + t, i);
            const std::uint64_t added = settings_.writes ? n * (k * (k - 1) / 2) : 0;
            if (sums_[t].of != once * k + added) return false;
            if (settings_.writes && arrays_[t][n / 2] != random_at(seed + t, n / 2) + k) return false;
        }
        return true;
    }

    std::size_t bytes() const { return settings_.threads * arrays_[0].size() * sizeof(std::uint64_t); }

private:
    std::uint64_t sweep(std::vector<std::uint64_t>& a) const {
        std::uint64_t sum = 0;
        for (std::size_t k = 0; k < settings_.sweeps; ++k) {
            if (settings_.writes)
                for (std::uint64_t& x : a) sum += x++;
            else
                for (const std::uint64_t x : a) sum += x;
            asm volatile("" : "+r"(sum) : : "memory"); // the next sweep reads the array again
        }
        return sum;
    }

    struct alignas(64) own_sum {
        std::uint64_t of = 0;
    };
    const sweep_settings settings_;
    std::vector<std::vector<std::uint64_t>> arrays_;
    std::vector<own_sum> sums_;
};

} // namespace examples
