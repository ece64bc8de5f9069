#pragma once

#include "replay/script.hpp"

#include <weft/graph.hpp>
#include <weft/weft.hpp>

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <unordered_map>
#include <vector>

namespace weft::replay {

/// Does what the tasks of a script did, inside a run of a modelled machine. All virtual workers are one
/// thread, and tasks take turns in calls of the library only, so that what they share here needs no lock.
class player {
public:
    /// `program`: its number among those that run beside each other. They share no data, whatever their addresses were.
    player(const script& s, double cycles_per_ns, int program = 0);

    void play(const batch::root&);

    /// Ends groups, graphs and futures that no task has waited for. Called as a root, when no other root runs.
    void clean_up();

    /// Throws what an action has thrown first. The actions behind it were carried out all the same, so that whatever
    /// waits for them does not wait for ever.
    void rethrow() const;

private:
    // Several tasks may be in calls of the same object, and each of them keeps it.
    struct live_group {
        explicit live_group(const hints& h) : group(h) {}
        task_group group;
        bool is_awaited = false;
    };
    struct live_graph {
        std::unordered_map<std::uint32_t, datum> data{}; ///< those without an address, by number
        std::unordered_map<row, graph_task> tasks{};
        graph dag{graph_options{.record_accesses = true}};
        bool is_awaited = false;
    };

    void play(row t);
    /// Plays the actions from `i` to `end`, until the task `until` is joined. Returns the index of the next
    /// action: the one behind that join. Where an exception left a closure, so that it was not joined, it is
    /// the join of a task around it. Plays open forks on top of each other: read_script() limits their number.
    std::uint32_t play(std::uint32_t i, std::uint32_t end, row until);
    std::uint32_t fork(std::uint32_t i, std::uint32_t end);
    void carry_out(const action&);
    template <class F>
    void attempt(F&& f);
    void spawn(std::uint32_t group, row t);
    void wait(std::uint32_t group);
    void set_home(const action&);

    std::uint64_t cycles(std::uint64_t ns);
    const void* address(std::uint64_t a) const noexcept;
    hints hints_of(row t) const;

    void start(std::uint32_t g);
    void finish(std::uint32_t g);
    void add(live_graph& to, row t);
    void play_share(row t, int rank, int width);

    const script& script_;
    const double cycles_per_ns_;
    const std::uint64_t first_address_; ///< is added to those of the script
    double fraction_ = 0;               ///< of a cycle, left by earlier computations
    std::vector<std::shared_ptr<live_group>> groups_;
    std::vector<std::shared_ptr<live_graph>> graphs_;
    std::vector<hints> group_hints_;
    std::deque<counting_semaphore<>> signals_;
    std::deque<future<void>> futures_; ///< one may be waited for while another comes
    std::exception_ptr failure_{};     ///< the first
};

} // namespace weft::replay
