#pragma once

#include "engine/process/at_exit.hpp"
#include "engine/threads/work_clock.hpp"
#include "share/borrowing.hpp"
#include "share/lending_board.hpp"
#include "task/task.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <sched.h>

namespace weft::engine {

struct thread_engine;
struct thread_worker;

struct lending_options {
    std::string directory{};  ///< of the board; empty: the runtime lends nothing
    std::vector<int> reach{}; ///< cores of others that it may borrow: one more worker, a guest, for each
    std::chrono::nanoseconds tick{1'000'000};
};

/// The cores that a runtime lends, and those that it borrows: share/README.md, "Lending". A worker that sleeps lends its core by
/// a word of its own, and takes it back by waking up. While workers work, a thread looks once a tick whether to borrow more
/// cores, and whether one was taken back.
class core_lending {
public:
    /// Throws weft::error if the board cannot be used, or the thread cannot be created. Nothing is borrowed before begin().
    core_lending(thread_engine&, const lending_options&, int homes, share::lending_board);
    ~core_lending() { stop(); }
    core_lending(const core_lending&) = delete;
    core_lending& operator=(const core_lending&) = delete;

    void begin() noexcept; ///< all threads of workers have come
    /// Gives all cores back, and leaves the board. When it returns, nothing is borrowed any more. Twice does nothing more.
    void stop() noexcept;

    void work_begins() noexcept { clock_.work_begins(); }

    // On the thread that runs the worker.
    void sleeps(const thread_worker&) noexcept;
    void wakes(const thread_worker&) noexcept;

private:
    /// A core that this program claims.
    struct borrowed {
        std::size_t place = 0; ///< in `reach_`
        int word = 0;          ///< the claim
        share::lent_core as_seen{};
    };
    /// Where a guest is.
    struct seat {
        int cpu = -1;      ///< -1: at home
        time_ns used = -1; ///< processor time of its thread at the last tick; -1: it ran no task then
    };
    struct one_claim;

    void tick(time_ns now) noexcept;
    void give_all_back() noexcept;
    void see_lent_cores();
    void drop_lost(time_ns elapsed);
    share::crew_sight look_at_crew() const noexcept;
    void confirm_waiting(int wanted);
    void grow(int wanted);
    void drop_held(std::size_t guest);
    void carry_out() noexcept;
    bool occupy(const borrowed&);
    bool is_starved(std::size_t guest, time_ns elapsed) const noexcept;
    void note_use() noexcept;
    int free_word() const noexcept;
    thread_worker& guest(std::size_t i) const noexcept;
    int cpu_of(const borrowed& b) const noexcept { return reach_[b.place]; }
    bool send_to(std::size_t guest, int cpu) noexcept;
    void send_home(std::size_t guest) noexcept;

    thread_engine& of_;
    const std::vector<int> reach_;
    const int homes_;
    share::lending_board board_;
    std::vector<share::home_word> homes_said_; ///< each is of the thread that runs the worker
    cpu_set_t home_mask_{};                    ///< of the thread that made the engine
    int usual_policy_ = SCHED_OTHER;           ///< likewise
    sched_param usual_priority_{};

    // Of the clock's thread, and of stop() when it has ended. By the place in `reach_`:
    std::vector<share::lent_record> records_;
    std::vector<bool> is_refused_; ///< the system does not let this process run there
    share::appetite appetite_{};
    std::vector<borrowed> held_{};    ///< guest i is on the i-th
    std::vector<borrowed> waiting_{}; ///< claims that do not hold yet
    std::vector<borrowed> dropped_{}; ///< to be withdrawn when the guests have left
    std::vector<seat> seats_;         ///< by guest
    int active_guests_ = 0;
    time_ns last_tick_ = 0;

    std::atomic<bool> begun_{false}; ///< written by begin(), read at each tick: release, acquire
    at_exit finish_{};               ///< of a runtime that is not destroyed: the file is removed
    work_clock clock_;               ///< the last member: its thread uses the others
};

/// A sleep of a worker on its own core, which is lent meanwhile.
class lent_while_asleep {
public:
    lent_while_asleep(core_lending* by, const thread_worker& w) noexcept : by_(by), w_(w) {
        if (by_) [[unlikely]]
            by_->sleeps(w_);
    }
    ~lent_while_asleep() {
        if (by_) [[unlikely]]
            by_->wakes(w_);
    }
    lent_while_asleep(const lent_while_asleep&) = delete;
    lent_while_asleep& operator=(const lent_while_asleep&) = delete;

private:
    core_lending* const by_;
    const thread_worker& w_;
};

} // namespace weft::engine
