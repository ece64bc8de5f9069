// Are two cores really there? On a shared virtual machine one of them can vanish for seconds: the guest
// believes that it has two, and its threads stand still in turn. What is measured meanwhile says nothing
// about a program with two workers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "timing.hpp"

#include <pthread.h>
#include <sched.h>

namespace bench {

class both_cores {
public:
    both_cores() {
        cpu_set_t allowed;
        if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
        for (std::size_t c = 0; c < CPU_SETSIZE; ++c)
            if (CPU_ISSET(c, &allowed)) cores_.push_back(c);
    }

    std::size_t count() const noexcept { return cores_.size(); }

    /// True if two pinned threads that run together progress as fast as one alone, each of them. About 6 ms.
    bool probe() const {
        if (cores_.size() < 2) return false;
        std::uint64_t alone = 0, first = 0, second = 0;
        std::atomic<int> ready{1};
        std::thread([&] { alone = progress(cores_[0], ready); }).join();
        ready = 2;
        std::thread other([&] { second = progress(cores_[1], ready); });
        std::thread one([&] { first = progress(cores_[0], ready); });
        one.join();
        other.join();
        constexpr double same = 0.93; // of the speed alone; the noise of one core is a few per cent
        return static_cast<double>(std::min(first, second)) >= same * static_cast<double>(alone);
    }

    /// Nanoseconds that a cache line takes from one of the two cores to the other, the best of a few times; 0
    /// if there is one core only. A virtual machine may be moved from cores that share a cache to others.
    double line_transfer_ns() const {
        if (cores_.size() < 2) return 0;
        constexpr int rounds = 20'000, times = 5;
        double best = std::numeric_limits<double>::max();
        for (int i = 0; i < times; ++i) {
            alignas(64) std::atomic<int> ball{0};
            std::thread other([&] {
                pin(cores_[1]);
                for (int r = 0; r < rounds; ++r) pass(ball, 2 * r + 1);
            });
            std::thread one([&] {
                pin(cores_[0]);
                pass(ball, 0); // both are there
                best = std::min(best, time_ns([&] {
                                          for (int r = 1; r < rounds; ++r) pass(ball, 2 * r);
                                      }) / (2 * rounds));
            });
            one.join();
            other.join();
        }
        return best;
    }

private:
    static void pin(std::size_t core) noexcept {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(core, &only);
        pthread_setaffinity_np(pthread_self(), sizeof only, &only);
    }
    static void pass(std::atomic<int>& ball, int at) noexcept {
        while (ball.load(std::memory_order_acquire) != at) {} // pairs with the store of the other one
        ball.store(at + 1, std::memory_order_release);
    }

    static std::uint64_t progress(std::size_t core, std::atomic<int>& ready) noexcept {
        pin(core);
        --ready;
        while (ready > 0) sched_yield();
        std::uint64_t steps = 0;
        for (const auto end = now_ns() + 3'000'000; now_ns() < end; ++steps) {}
        return steps;
    }

    std::vector<std::size_t> cores_;
};

} // namespace bench
