#pragma once

#include <weft/weft.hpp>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

/// Random programs of teams, and the means by which a test sees which worker works for which team.
namespace weft::test::teams {

/// Work that any worker may take part in.
inline void tree(int depth, const std::function<void()>& leaf) {
    if (depth == 0) {
        cost(500);
        return leaf();
    }
    join([&] { tree(depth - 1, leaf); }, [&] { tree(depth - 1, leaf); });
}

/// A barrier of user code that knows nothing of tasks: no caller continues before all have come. Not for
/// modelled machines.
struct spin_barrier {
    std::atomic<int> arrived{0};
    void wait(int all) {
        const int mine = ++arrived;
        const int until = (mine + all - 1) / all * all;
        while (arrived < until) std::this_thread::yield();
    }
};

class watched_team;

/// The team that each worker works for, as the running code says.
class watched_workers {
public:
    explicit watched_workers(int count) : team_of_(static_cast<std::size_t>(count)) {}

    std::atomic<int> wrong{0};

private:
    friend watched_team;
    std::vector<std::atomic<const watched_team*>> team_of_;
};

/// A team, or, without one around it, the workers that are in none. While the team exists, only its members
/// run its code, and they run nothing else but the code of teams inside it.
class watched_team {
public:
    watched_team(watched_workers& all, int most, watched_team* around = nullptr)
        : all_(all)
        , most_(most)
        , around_(around) {}

    /// A part of it that keeps it together begins, and ends. A team keeps the one around it together.
    void begin() {
        if (open_++ == 0 && around_) around_->begin();
    }
    void end() {
        if (--open_ > 0) return;
        seen_ = 0;
        for (auto& of : all_.team_of_) {
            const watched_team* expected = this;
            of.compare_exchange_strong(expected, around_);
        }
        if (around_) around_->end();
    }
    /// In code of the team.
    void visit() {
        const auto w = static_cast<std::size_t>(this_task::worker());
        const watched_team* const before = all_.team_of_[w].exchange(this);
        const watched_team* allowed = this;
        while (allowed && allowed != before) allowed = allowed->around_;
        if (before && !allowed) ++all_.wrong; // another team has this worker
        const std::uint64_t seen = seen_.fetch_or(std::uint64_t{1} << w) | std::uint64_t{1} << w;
        if (std::popcount(seen) > most_) ++all_.wrong;
    }

private:
    watched_workers& all_;
    const int most_;
    watched_team* const around_;
    std::atomic<int> open_{0};
    std::atomic<std::uint64_t> seen_{0}; ///< workers
};

/// Graphs in graphs, of tasks with and without teams, that need data and resources and wait in every way. It
/// is drawn before it runs, and comes to an end whatever the schedule.
class random_program {
public:
    /// The resources of the runtime. A task that holds 'slot' or 'port' never waits: otherwise it could need
    /// a worker while all workers are in teams whose tasks wait for what it holds.
    static constexpr const char* resources = "[[resource]]\nname = \"file\"\namount = 8\n"
                                             "[[resource]]\nname = \"slot\"\namount = 1\n"
                                             "[[resource]]\nname = \"port\"\nper = \"package\"\namount = 1\n";

    struct shape {
        int workers = 1;
        int of_a_package = 1; ///< workers, at least so many
        int depth = 2;        ///< of graphs
        int tasks = 9;        ///< of a graph, at most
        bool may_spin = true; ///< in user code, for another one
    };

    random_program(std::uint64_t from, const shape& s)
        : draw_(from)
        , shape_(s)
        , workers_(s.workers)
        , outermost_(workers_, s.workers) {
        fill(dag_, s.depth, s.workers, outermost_);
    }

    /// In a runtime.
    void run() {
        dag_.run();
        for (auto& f : left_behind_)
            if (f.valid()) f.get();
    }
    std::atomic<int> ran{0}; ///< bodies and shares, in all runs
    int expected = 0;        ///< in one
    int wrong() const { return workers_.wrong; }

private:
    int below(int n) { return static_cast<int>(draw_() % static_cast<std::uint64_t>(n)); }

    /// Of a task of `team` that adds no graph.
    std::function<void()> simple_body(watched_team& team) {
        const int n = below(4);
        const auto visit = [&team] { team.visit(); };
        switch (below(6)) {
        case 0: return visit;
        case 1: return [n, visit] { tree(n, visit); };
        case 2:
            return [n, visit] {
                for (int i = 0; i < n; ++i) {
                    visit();
                    this_task::yield();
                }
                visit();
            };
        case 3:
            return [n, visit] {
                task_group g;
                auto f = async([&] { tree(n, visit); });
                for (int i = 0; i < n; ++i)
                    g.run([&] {
                        visit();
                        this_task::yield();
                        visit();
                    });
                g.wait();
                f.get();
                visit();
            };
        case 4: {
            left_behind_.emplace_back();
            return [this, n, visit, &team, own = left_behind_.size() - 1] {
                visit();
                team.begin();
                left_behind_[own] = async([n, visit, &team] {
                    this_task::yield();
                    tree(n, visit);
                    team.end();
                });
            };
        }
        default:
            return [n, visit] {
                this_task::sleep_for(std::chrono::microseconds(10 * n));
                cost(static_cast<unsigned>(1000 * n));
                visit();
            };
        }
    }

    /// Of a task that is of no team but `team`, of so many workers.
    std::function<void()> body(int depth, int size, watched_team& team) {
        ++expected;
        std::function<void()> does = simple_body(team);
        if (depth > 0 && below(8) < 3) {
            auto inner = std::make_shared<graph>();
            fill(*inner, depth - 1, size, team);
            does = [inner, first = std::move(does)] {
                first();
                inner->run();
            };
        }
        return [this, &team, does = std::move(does)] {
            team.begin();
            does();
            ++ran;
            team.end();
        };
    }

    std::function<void()> brief_body(watched_team& team) {
        ++expected;
        return [this, &team] {
            team.begin();
            team.visit();
            cost(500);
            ++ran;
            team.end();
        };
    }

    void add_moldable(graph& g, int size, watched_team& around) {
        expected += size;
        watched_team& team = teams_.emplace_back(workers_, size, &around);
        const bool spins = shape_.may_spin && below(2) == 0;
        g.add(moldable([this, &team, spins, meet = std::make_shared<barrier<>>(size),
                        spin = std::make_shared<spin_barrier>()](int, int width) {
                  team.begin();
                  team.visit();
                  if (spins)
                      spin->wait(width);
                  else
                      meet->arrive_and_wait();
                  tree(1, [&] { team.visit(); });
                  if (spins)
                      spin->wait(width);
                  else
                      meet->arrive_and_wait();
                  ++ran;
                  team.end();
              }),
              fixed_width(size));
    }

    void fill(graph& g, int depth, int size, watched_team& around) {
        const int tasks = 2 + below(shape_.tasks - 1);
        const bool is_outermost = depth == shape_.depth; // members of a team may be of several packages
        for (int i = 0; i < tasks; ++i) {
            const bool in_package = is_outermost && below(3) == 0;
            const int wanted = 1 + below(in_package ? shape_.of_a_package : size);
            auto ask = cores(wanted, in_package ? within::package : within::machine);
            if (below(4) == 0) ask = ask.relaxed();
            int& datum = data_[below(4)];
            const auto team = [&]() -> watched_team& {
                return teams_.emplace_back(workers_, wanted, &around);
            };
            const auto of_a_team = [&](int d) { return body(d, ask.is_relaxed ? 1 : wanted, team()); };
            switch (below(13)) {
            case 0:
            case 1: g.add(of_a_team(depth), ask); break;
            case 2: g.add(of_a_team(0), ask, needs("file")); break; // its holder waits for no other resource
            case 3: g.add(body(0, size, around), needs("file")); break;
            case 4: g.add(of_a_team(0), ask, commutative(datum)); break;
            case 5: g.add(of_a_team(depth), ask, write(datum)); break;
            case 6: add_moldable(g, wanted, around); break;
            case 7: g.add(brief_body(around), needs("slot")); break;
            case 8: g.add(brief_body(around), needs("port"), needs("slot")); break;
            case 9: g.add(brief_body(around), needs("port")); break;
            case 10:
                if (below(2) == 0)
                    g.add(brief_body(team()), needs("slot"), ask);
                else
                    g.add(brief_body(team()), needs("port"), ask);
                break;
            default: g.add(body(depth, size, around), readwrite(datum));
            }
        }
    }

    std::mt19937_64 draw_;
    const shape shape_;
    watched_workers workers_;
    watched_team outermost_;
    std::deque<watched_team> teams_;
    std::deque<future<void>> left_behind_;
    int data_[4]{};
    graph dag_;
};

} // namespace weft::test::teams
