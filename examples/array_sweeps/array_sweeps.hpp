// Each thread goes through an array of its own again and again: what a preempted thread finds in the caches when it goes on.
//
//   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. 2021, section 3.3.1.
#pragma once

#include "../common/cost.hpp"
#include "../common/random.hpp"
#include "../common/team.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace examples {

struct sweep_settings {
    std::size_t threads = 2, kbytes = 1024, sweeps = 100;
    bool writes = false; // each sweep adds 1 to every number, too
};

// Cycles per number, see cost.hpp: with optimisation, sums take vector instructions, and changes do not.
inline constexpr double sum_cycles = 0.53, change_cycles = 1.02;

class array_sweeps {
public:
    array_sweeps(const sweep_settings& s, std::uint64_t seed)
        : settings_(s)
        , numbers_(s.kbytes * 1024 / sizeof(std::uint64_t))
        , arrays_(s.threads)
        , sums_(s.threads) {
        for (std::size_t t = 0; t < s.threads; ++t) {
            arrays_[t] = std::make_unique_for_overwrite<std::uint64_t[]>(numbers_);
            if (!kernels_compute) continue;
            for (std::size_t i = 0; i < numbers_; ++i) arrays_[t][i] = random_at(seed + t, i);
        }
    }

    // In a task of the runtime. If the arrays are written, once.
    void run(weft::preemption type) {
        run_team(settings_.threads, meeting::weft, type,
                 [this](const team_member& me) { sums_[me.rank].of = sweep(arrays_[me.rank].get()); });
    }

    // Compared with what the sums must be by a formula, modulo 2^64.
    bool is_right(std::uint64_t seed) const {
        const std::uint64_t k = settings_.sweeps;
        for (std::size_t t = 0; t < settings_.threads; ++t) {
            const std::uint64_t n = numbers_;
            std::uint64_t once = 0;
            for (std::size_t i = 0; i < n; ++i) once += random_at(seed + t, i);
            const std::uint64_t added = settings_.writes ? n * (k * (k - 1) / 2) : 0;
            if (sums_[t].of != once * k + added) return false;
            if (settings_.writes && arrays_[t][n / 2] != random_at(seed + t, n / 2) + k) return false;
        }
        return true;
    }

    std::size_t bytes() const { return settings_.threads * numbers_ * sizeof(std::uint64_t); }

private:
    // Declared to a modelled machine as soon as it is read: a sweep may be preempted between two pieces.
    static constexpr std::size_t piece = (std::size_t{128} << 10) / sizeof(std::uint64_t);

    std::uint64_t sweep(std::uint64_t* array) const {
        std::uint64_t sum = 0;
        for (std::size_t k = 0; k < settings_.sweeps; ++k)
            for (std::size_t first = 0; first < numbers_; first += piece) {
                const std::span<std::uint64_t> part(array + first, std::min(piece, numbers_ - first));
                weft::touch(part.data(), part.size_bytes(),
                            settings_.writes ? weft::access::readwrite : weft::access::read);
                settings_.writes ? spend(part.size(), change_cycles)
                                 : spend(part.size(), sum_cycles, weft::work::vector);
                if (kernels_compute) sum += settings_.writes ? change(part) : sum_of(part);
            }
        return sum;
    }
    static std::uint64_t sum_of(std::span<const std::uint64_t> part) {
        std::uint64_t sum = 0;
        for (const std::uint64_t x : part) sum += x;
        asm volatile("" : "+r"(sum) : : "memory"); // the next sweep reads the array again
        return sum;
    }
    static std::uint64_t change(std::span<std::uint64_t> part) {
        std::uint64_t sum = 0;
        for (std::uint64_t& x : part) sum += x++;
        asm volatile("" : "+r"(sum) : : "memory");
        return sum;
    }

    struct alignas(64) own_sum {
        std::uint64_t of = 0;
    };
    const sweep_settings settings_;
    const std::size_t numbers_; // of an array
    std::vector<std::unique_ptr<std::uint64_t[]>> arrays_;
    std::vector<own_sum> sums_;
};

} // namespace examples
