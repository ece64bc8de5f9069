// Teams of threads that a task starts, as a parallel library inside of a parallel program does, and the barriers at
// which the members wait for each other. At a barrier that spins no member passes as long as not all of them run: if there
// are more members than workers, they must be preempted (docs/preemption.md).
#pragma once

#include <weft/weft.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <pthread.h>

namespace examples {

enum class meeting : std::uint8_t {
    spin, // the members look at a word, and call nothing
    poll, // the same, and they declare what a look costs: a wait that modelled machines can follow
    yield, // the same, but they let other tasks run between two looks: what a library may do that knows of tasks
    pthread, // pthread_barrier_wait: the kernel stops the thread, and the worker with it
    weft     // weft::barrier: the task waits, not its worker
};

inline const std::map<std::string, meeting> meetings = {{"spin", meeting::spin},
                                                        {"poll", meeting::poll},
                                                        {"yield", meeting::yield},
                                                        {"pthread", meeting::pthread},
                                                        {"weft", meeting::weft}};

// A barrier of a fixed number of members.
class team_barrier {
public:
    team_barrier(std::size_t members, meeting how) : members_(members), how_(how) {
        if (how == meeting::pthread && pthread_barrier_init(&of_kernel_, nullptr, count(members)) != 0)
            throw std::runtime_error("cannot make a pthread_barrier");
        if (how == meeting::weft) of_weft_ = std::make_unique<weft::barrier<>>(count(members));
    }
    team_barrier(const team_barrier&) = delete;
    team_barrier& operator=(const team_barrier&) = delete;
    ~team_barrier() {
        if (how_ == meeting::pthread) pthread_barrier_destroy(&of_kernel_);
    }

    void wait() {
        switch (how_) {
        case meeting::spin:
        case meeting::poll:
        case meeting::yield: return look();
        case meeting::pthread: pthread_barrier_wait(&of_kernel_); return;
        case meeting::weft: return of_weft_->arrive_and_wait();
        }
    }

private:
    static unsigned count(std::size_t n) { return static_cast<unsigned>(n); }

    // The last member to come begins the next round for all.
    void look() {
        const auto round = round_.load(std::memory_order_acquire);
        if (come_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
            come_.store(0, std::memory_order_relaxed); // before the members that the next store lets go
            round_.store(round + 1, std::memory_order_release);
            return;
        }
        while (round_.load(std::memory_order_acquire) == round) // pairs with that store
            if (how_ == meeting::yield)
                weft::this_task::yield();
            else if (how_ == meeting::poll)
                weft::cost(cycles_of_poll);
    }
    // Many looks: an event of the model for each would take long, and ticks are much rarer.
    static constexpr std::uint64_t cycles_of_poll = 50'000;

    const std::size_t members_;
    const meeting how_;
    alignas(64) std::atomic<std::size_t> come_{0};
    alignas(64) std::atomic<std::uint64_t> round_{0};
    pthread_barrier_t of_kernel_{};
    std::unique_ptr<weft::barrier<>> of_weft_{};
};

// One of a team.
struct team_member {
    std::size_t rank, size;
    team_barrier& all;

    // Its share of `n` things that lie side by side: from first to before last.
    std::pair<std::size_t, std::size_t> share(std::size_t n) const {
        return {n * rank / size, n * (rank + 1) / size};
    }
    void meet() const { all.wait(); }
};

// While it lives, the calling task may allocate. A task that yields may not do so without a guard; one that keeps its kernel
// thread must do it without one, since it may have to wait for another one that is stopped in malloc.
class while_allocating {
public:
    explicit while_allocating(weft::preemption type) {
        if (type == weft::preemption::yield) guard_.emplace();
    }

private:
    std::optional<weft::preemption_guard> guard_;
};

// Calls body(member) in `size` threads: the caller is member 0, as in OpenMP, and the others are threads of the type that is
// that of the caller, too.
template <class Body>
void run_team(std::size_t size, meeting how, weft::preemption type, const Body& body) {
    team_barrier all(size, how);
    std::vector<weft::jthread> others;
    {
        const while_allocating here(type);
        others.reserve(size - 1);
        for (std::size_t rank = 1; rank < size; ++rank)
            others.emplace_back([&body, &all, rank, size] { body(team_member{rank, size, all}); },
                                weft::hints{.name = "member", .preempt = type});
    }
    body(team_member{0, size, all});
    const while_allocating here(type);
    others.clear(); // joins them
}

} // namespace examples
