// Threads that meet at a barrier again and again: many more of them than workers.
//
//   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. 2021, section 3.3.1.
//
// With a barrier that spins, or one of the kernel, a thread that has arrived keeps its worker until a tick takes it away. So
// with k threads a worker a round takes k - 1 intervals.
#pragma once

#include "../common/team.hpp"

#include <weft/weft.hpp>

#include <atomic>
#include <cstddef>
#include <numeric>
#include <vector>

namespace examples {

class repeated_meeting {
public:
    repeated_meeting(std::size_t threads, std::size_t rounds) : rounds_(rounds), members_(threads) {}

    // In a task of the runtime.
    void run(meeting how, weft::preemption type) {
        run_team(members_.size(), how, type, [this](const team_member& me) {
            member& mine = members_[me.rank];
            for (std::size_t r = 1; r <= rounds_; ++r) {
                mine.come.store(r, std::memory_order_relaxed);
                me.meet();
                for (const member& other : members_) {
                    const std::size_t come = other.come.load(std::memory_order_relaxed);
                    mine.early += come < r || come > r + 1;
                }
            }
        });
    }

    // How often a member was let go before another one had come.
    std::size_t early() const {
        return sum([](const member& m) { return m.early; });
    }
    // How often a member came.
    std::size_t passed() const {
        return sum([](const member& m) { return m.come.load(std::memory_order_relaxed); });
    }

private:
    struct alignas(64) member {
        std::atomic<std::size_t> come{0};
        std::size_t early = 0;
    };
    template <class Of>
    std::size_t sum(const Of& of) const {
        return std::accumulate(members_.begin(), members_.end(), std::size_t{0},
                               [&](std::size_t all, const member& m) { return all + of(m); });
    }
    const std::size_t rounds_;
    std::vector<member> members_;
};

} // namespace examples
