// The policy `auto` without an engine: how times decide, when it changes to another candidate, and what it keeps in a file.
#include "policy/fake_context.hpp"
#include "policy/parts/code_place.hpp"
#include "policy/parts/kept_choices.hpp"
#include "policy/parts/place_trials.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::fake_context;

// ---- trials

/// Plays the runs of a place whose candidates take the times that `takes(candidate, run)` says.
struct played {
    place_record record{};
    std::uint32_t candidates = 0;
    double share = 0.05;
    std::vector<std::uint32_t> chosen{};
    double took = 0;

    void runs(int count, const std::function<double(std::uint32_t, std::size_t)>& takes) {
        for (int i = 0; i < count; ++i) {
            place_trials t(record, candidates, share);
            const std::uint32_t c = t.next();
            const double ns = takes(c, chosen.size());
            chosen.push_back(c);
            took += ns;
            t.took(c, static_cast<time_ns>(ns));
        }
    }
    void until_decided(const std::function<double(std::uint32_t, std::size_t)>& takes) {
        while (!is_decided() && chosen.size() < 500) runs(1, takes);
    }
    auto count(std::uint32_t c) const { return std::ranges::count(chosen, c); }
    bool is_decided() { return place_trials(record, candidates, share).is_decided(); }
};

TEST(place_trials, the_first_run_is_of_the_first_candidate_and_trials_lie_between_runs_of_the_best) {
    played p{.candidates = 3};
    p.runs(12, [](std::uint32_t, std::size_t) { return 1e6; });
    EXPECT_EQ(p.chosen, (std::vector<std::uint32_t>{0, 0, 1, 1, 0, 0, 2, 2, 0, 0, 1, 1}));
}

TEST(place_trials, the_fastest_becomes_the_best_and_stays) {
    played p{.candidates = 4};
    const std::array<double, 4> of = {1e6, 1.2e6, 0.7e6, 0.9e6};
    p.until_decided([&](std::uint32_t c, std::size_t) { return of[c]; });
    EXPECT_EQ(p.record.best, 2U);
    EXPECT_TRUE(p.is_decided());
    const auto before = p.count(2);
    p.runs(20, [&](std::uint32_t c, std::size_t) { return of[c]; });
    EXPECT_EQ(p.count(2), before + 20);
}

TEST(place_trials, times_that_scatter_need_more_comparisons_and_do_not_mislead) {
    int wrong = 0;
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        std::mt19937 random(seed);
        std::lognormal_distribution<double> noise(0, 0.1);
        played p{.candidates = 3};
        p.runs(60, [&](std::uint32_t c, std::size_t) { return (c == 1 ? 0.6e6 : 1e6) * noise(random); });
        wrong += p.record.best == 1 ? 0 : 1;
    }
    EXPECT_LE(wrong, 1);
    int changed = 0; // all are alike
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        std::mt19937 random(seed);
        std::lognormal_distribution<double> noise(0, 0.1);
        played p{.candidates = 3};
        p.runs(60, [&](std::uint32_t, std::size_t) { return 1e6 * noise(random); });
        changed += p.record.best == 0 ? 0 : 1;
    }
    EXPECT_LE(changed, 10);
}

TEST(place_trials, what_is_far_slower_is_tried_once) {
    played p{.candidates = 2};
    p.runs(60, [](std::uint32_t c, std::size_t) { return c == 1 ? 2e6 : 1e6; });
    EXPECT_EQ(p.count(1), 2);
    played q{.candidates = 2};
    q.runs(60, [](std::uint32_t c, std::size_t) { return c == 1 ? 4e6 : 1e6; });
    EXPECT_EQ(q.count(1), 1);
}

/// Candidate 1 takes seven tenths of the time if the run before was its own, too, as the data are where it puts them.
TEST(place_trials, a_candidate_that_gains_from_its_own_last_run_is_found) {
    played p{.candidates = 2};
    p.runs(40, [&](std::uint32_t c, std::size_t run) {
        const bool is_at_home = run > 0 && p.chosen[run - 1] == c;
        return c == 1 && is_at_home ? 0.7e6 : 1e6;
    });
    EXPECT_EQ(p.record.best, 1U);
}

/// What trials lose is at most the share of all times and one trial, which has two runs.
TEST(place_trials, the_regret_is_bounded) {
    for (const double slower : {1.2, 2.0, 20.0}) {
        played p{.candidates = 8};
        double most = 0;
        for (int i = 0; i < 400; ++i) {
            p.runs(1, [&](std::uint32_t c, std::size_t) { return c == 0 ? 1e6 : slower * 1e6; });
            const double lost = p.took - 1e6 * static_cast<double>(p.chosen.size());
            EXPECT_LE(lost, 0.05 * p.took + 2 * (slower - 1) * 1e6 + 8)
                << slower << " after " << i; // rounding of times
            most = std::max(most, lost);
        }
        EXPECT_GT(most, 0);
    }
    played none{.candidates = 3, .share = 0};
    none.runs(100, [](std::uint32_t c, std::size_t) { return c == 0 ? 1e6 : 2e6; });
    EXPECT_LE(none.count(1) + none.count(2), 2); // until the first loss
}

/// Each run has an input a tenth larger than the last one, so that candidate 1, which takes nine tenths of the time, takes more than
/// the run of the best one before it; and the other way round.
TEST(place_trials, an_input_that_grows_does_not_mislead) {
    played p{.candidates = 2};
    p.runs(30, [](std::uint32_t c, std::size_t run) {
        return (c == 1 ? 0.9e6 : 1e6) * std::pow(1.1, static_cast<double>(run));
    });
    EXPECT_EQ(p.record.best, 1U);
    played q{.candidates = 2};
    q.runs(30, [](std::uint32_t c, std::size_t run) {
        return (c == 1 ? 1.1e6 : 1e6) * std::pow(0.9, static_cast<double>(run));
    });
    EXPECT_EQ(q.record.best, 0U);
}

TEST(place_trials, a_program_that_changes_is_tried_again) {
    played p{.candidates = 2};
    p.until_decided([](std::uint32_t c, std::size_t) { return c == 1 ? 1.3e6 : 1e6; });
    EXPECT_EQ(p.record.best, 0U);
    EXPECT_TRUE(p.is_decided());
    p.runs(30, [](std::uint32_t c, std::size_t) { return c == 1 ? 2e6 : 3e6; }); // another level
    EXPECT_EQ(p.record.best, 1U);
    played q{.candidates = 2}; // the same level, and now the other one is faster: found after a rest
    q.until_decided([](std::uint32_t c, std::size_t) { return c == 1 ? 1.3e6 : 1e6; });
    EXPECT_EQ(q.record.best, 0U);
    q.runs(100, [](std::uint32_t c, std::size_t) { return c == 1 ? 0.8e6 : 1e6; });
    EXPECT_EQ(q.record.best, 1U);
}

TEST(place_trials, runs_without_a_time_are_compared_with_nothing) {
    place_record r;
    place_trials t(r, 2, 0.05);
    for (int i = 0; i < 2; ++i) t.took(0, 100);
    EXPECT_EQ(t.next(), 1U);
    for (int i = 0; i < 2; ++i) t.took(1, 10);
    t.missed();
    EXPECT_EQ(t.next(), 0U);
    for (int i = 0; i < 2; ++i) t.took(0, 100);
    EXPECT_EQ(r.compared, 0U);
}

// ---- names of code

TEST(code_place, a_function_has_a_name_that_holds_in_the_next_process) {
    std::array<char, 200> room{}, other{};
    const auto at = [](const fake_context*) {};
    void (*const code)(const fake_context*) = at;
    const std::string name(name_of_code(reinterpret_cast<const void*>(code), room));
    EXPECT_NE(name.find("weft_unit_policy_auto"), std::string::npos) << name;
    EXPECT_NE(name.find("+0x"), std::string::npos) << name;
    EXPECT_NE(name, name_of_code(reinterpret_cast<const char*>(code) + 1, other));
    EXPECT_EQ(name_of_code(nullptr, room), "");
    std::array<char, 4> small{};
    EXPECT_EQ(name_of_code(reinterpret_cast<const void*>(code), small).size(), 4U);
    EXPECT_FALSE(identity_of_program().empty());
    EXPECT_EQ(identity_of_program(), identity_of_program());
}

// ---- the policy

/// Two packages, each with a cache of its own: the rules try adws and near.
machine two_packages(int cores) {
    return parse_toml("name = 'two packages'\n[[core_class]]\nname = 'core'\nfrequency_mhz = "
                      "1000\n[regular]\npackages = 2\n"
                      "domains_per_package = 1\ncores_per_domain = " +
                          std::to_string(cores / 2) + "\n",
                      "two packages");
}

void first_code(void*) {}
void second_code(void*) {}

/// Half of the cores are slow ones: the rules try hybrid.
machine two_speeds(int cores) {
    const std::string half = std::to_string(cores / 2);
    return parse_toml("name = 'two speeds'\n"
                      "[[core_class]]\nname = 'fast'\nspeed = 1\nfrequency_mhz = 1000\n"
                      "[[core_class]]\nname = 'slow'\nspeed = 0.4\nfrequency_mhz = 1000\n"
                      "[[domain]]\ncores = [{class = 'fast', count = " +
                          half + "}, {class = 'slow', count = " + half + "}]\n",
                      "two speeds");
}

struct driven {
    explicit driven(const std::string& spec, int workers = 4) : driven(spec, two_packages(workers)) {}
    driven(const std::string& spec, const machine& on) : context(on.size()), scheduler(make_policy(spec)) {
        need = scheduler->attach(on, context);
    }
    policy* operator->() const { return scheduler.get(); }

    task& make(void (*code)(void*), task* parent = nullptr) {
        task& t = tasks.emplace_back();
        t.call_ = code;
        t.parent_ = parent;
        return t;
    }
    /// A run of a root with that code, which takes as long as `takes` says of its zone. Returns whether it was silent.
    bool run(void (*code)(void*), const std::function<time_ns(bool)>& takes) {
        task& root = make(code);
        const bool is_silent = scheduler->run_begins(root, context.time).lazy;
        scheduler->ready(0, root, ready_reason::root);
        EXPECT_EQ(scheduler->next(0, true).t, &root);
        scheduler->started(0, root);
        scheduler->finished(0, root, {});
        context.time += takes(is_silent);
        scheduler->run_ended(context.time);
        return is_silent;
    }

    fake_context context;
    requirements need;
    std::unique_ptr<policy> scheduler;
    std::deque<test::task_with_bytes> tasks;
};

TEST(policy_auto, each_place_gets_the_candidate_that_is_faster_there) {
    driven p("auto:of=share,memory=off");
    EXPECT_TRUE(p.need.follows_runs);
    EXPECT_TRUE(p.need.lazy);
    const auto silent_is_slow = [](bool silent) { return silent ? 2000 : 1000; };
    const auto silent_is_fast = [](bool silent) { return silent ? 1000 : 1200; };
    int first = 0, second = 0;
    for (int i = 0; i < 40; ++i) {
        const bool a = p.run(first_code, silent_is_slow), b = p.run(second_code, silent_is_fast);
        first += i >= 20 && !a ? 1 : 0;
        second += i >= 20 && b ? 1 : 0;
    }
    EXPECT_EQ(first, 20);
    EXPECT_EQ(second, 20);
    const policy_choices c = p->choices();
    ASSERT_EQ(c.places.size(), 2U);
    EXPECT_EQ(c.places[0].chosen, "share");
    EXPECT_EQ(c.places[1].chosen, "steal");
    EXPECT_EQ(c.places[0].state, "decided");
    EXPECT_EQ(c.places[0].runs, 40U);
    EXPECT_NE(c.places[0].place, c.places[1].place);
    EXPECT_EQ(c.memory, "off");
}

TEST(policy_auto, sleepers_look_again_when_it_changes) {
    driven p("auto:of=share,memory=off");
    for (int i = 0; i < 2; ++i) p.run(first_code, [](bool) { return 1000; });
    EXPECT_TRUE(p.context.woken.empty());
    EXPECT_FALSE(p.run(first_code, [](bool) { return 1000; }));
    ASSERT_EQ(p.context.woken.size(), 1U);
    EXPECT_EQ(p.context.woken[0].size(), 4);
}

/// A future that a silent root has not waited for is in a place of the present candidate. (I1 and I2 of auto.cpp)
TEST(policy_auto, it_does_not_change_while_a_task_is_left_that_no_root_waits_for) {
    driven p("auto:of=share,memory=off");
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(p.run(first_code, [](bool) { return 1000; }));
    task& root = p.make(first_code);
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(p->run_begins(root, p.context.time).lazy); // a trial
        p->run_ended(p.context.time += 1000);
    }
    task& future = p.make(second_code);
    EXPECT_TRUE(p->run_begins(root, p.context.time).lazy);
    p->ready(1, future, ready_reason::spawned);
    p->run_ended(p.context.time += 1000);
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(p->run_begins(root, p.context.time).lazy);
        if (i == 2) { // it runs, blocks and ends on other workers; its frame is not counted
            EXPECT_EQ(p->next(1, true).t, &future);
            p->started(1, future);
            p->blocked(1, future, ready_reason::unblocked);
            p->ready(2, future, ready_reason::unblocked);
            EXPECT_EQ(p->next(2, true).t, &future);
            test::task_with_bytes frame;
            std::ranges::copy(p.tasks.back().bytes, frame.bytes);
            p->ready(3, frame, ready_reason::exposed);
            EXPECT_EQ(p->next(3, true).t, &frame);
            p->started(3, frame);
            p->finished(3, frame, {});
        }
        p->run_ended(p.context.time += 1000);
    }
    p->finished(2, future, {});
    for (int i = 0; i < 2; ++i)
        EXPECT_TRUE(p.run(first_code, [](bool) { return 1000; })); // to be compared with
    EXPECT_FALSE(p.run(first_code, [](bool) { return 1000; }));
}

TEST(policy_auto, candidates_by_the_machine) {
    const requirements need = driven("auto:memory=off").need;
    EXPECT_GT(need.group_bytes, 0); // adws
    EXPECT_FALSE(need.resizable);
    EXPECT_TRUE(driven("auto:of=near+share,memory=off").need.resizable);
    fake_context alone(1);
    const auto p = make_policy("auto:memory=off");
    EXPECT_EQ(p->attach(machine(), alone).task_bytes, sizeof(void*)); // steal and no other
}

TEST(policy_auto, what_candidates_on_unequal_cores_need_is_asked_for) {
    const requirements need = driven("auto:memory=off", two_speeds(4)).need;
    EXPECT_EQ(need.tick, 250'000);
    EXPECT_GT(need.most_width, 1);
    EXPECT_TRUE(need.exchanges);
    EXPECT_TRUE(need.resizable);
    EXPECT_EQ(driven("auto:memory=off").need.tick, 0);
    EXPECT_EQ(driven("auto:of=optimal+speed:interval_us=300,memory=off").need.tick, 300'000);
}

/// hybrid leaves workers on other cores than those on which they began.
TEST(policy_auto, the_next_candidate_finds_each_worker_on_the_core_on_which_it_began) {
    driven p("auto:of=hybrid,memory=off", two_speeds(4));
    const std::vector<int> home = p.context.cores, other = {3, 0, 1, 2};
    const auto next_molds = [&] {
        const bool molds = p->run_begins(p.make(first_code), p.context.time).molds;
        p->run_ended(p.context.time += 1000);
        return molds;
    };
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(next_molds());
    EXPECT_TRUE(next_molds());
    p.context.cores = other;
    EXPECT_TRUE(next_molds());
    EXPECT_EQ(p.context.cores, other); // the same candidate
    EXPECT_FALSE(next_molds());
    EXPECT_EQ(p.context.cores, home);
}

/// The first share may end before the others.
TEST(policy_auto, it_does_not_change_while_a_share_is_left_that_no_root_waits_for) {
    driven p("auto:of=hybrid,memory=off", two_speeds(4));
    task& root = p.make(first_code);
    const auto begins = [&] { return p->run_begins(root, p.context.time).molds; };
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(begins());
        p->run_ended(p.context.time += 1000);
    }
    EXPECT_TRUE(begins());
    task &wide = p.make(second_code), &share = p.make(second_code);
    wide.molds_ = true;
    wide.width_ = 2;
    p->ready(0, wide, ready_reason::released);
    ASSERT_EQ(p->next(0, true).t, &wide);
    p->mold(0, wide);
    std::ranges::copy(p.tasks[p.tasks.size() - 2].bytes, p.tasks.back().bytes); // as the engine does
    task* const shares[] = {&wide, &share};
    for (std::int16_t i = 0; i < 2; ++i) {
        shares[i]->molds_ = false;
        shares[i]->share_ = true;
        shares[i]->rank_ = i;
        shares[i]->width_ = 2;
    }
    p->assemble(0, shares, {0, 2});
    EXPECT_TRUE(p->keeps_share(0));
    EXPECT_TRUE(p->keeps_share(1));
    EXPECT_FALSE(p->keeps_share(2));
    const auto runs = [&](worker_id w, task& t) {
        EXPECT_EQ(p->next(w, true).t, &t);
        p->started(w, t);
        p->finished(w, t, {});
    };
    runs(0, wide);
    p->run_ended(p.context.time += 1000);
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(begins());
        p->run_ended(p.context.time += 1000);
    }
    runs(1, share);
    EXPECT_FALSE(begins()); // what was not measured is compared with nothing
}

/// A group that a root did not make may have children when the root has ended: reported ones, and silent ones whose parent a thief has.
TEST(policy_auto, children_that_outlive_their_root_are_waited_for) {
    driven p("auto:of=share,memory=off");
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(p.run(first_code, [](bool) { return 1000; }));
    task& root = p.make(first_code);
    const auto keeps_steal = [&] {
        bool is_kept = true;
        for (int i = 0; i < 5; ++i) {
            is_kept &= p->run_begins(root, p.context.time).lazy;
            p->run_ended(p.context.time += 1000);
        }
        return is_kept;
    };
    task& queued = p.make(second_code, &root);
    p->ready(1, queued, ready_reason::spawned);
    EXPECT_TRUE(keeps_steal());
    EXPECT_EQ(p->next(1, true).t, &queued);
    p->started(1, queued);
    EXPECT_TRUE(keeps_steal());
    task& called = p.make(second_code, &root); // it begins without having been ready
    p->started(2, called);
    p->finished(1, queued, {});
    EXPECT_TRUE(keeps_steal());
    p->child_detached(3);
    p->finished(2, called, {});
    EXPECT_TRUE(keeps_steal());
    p->child_settled(0); // by the worker that has it now
    EXPECT_FALSE(keeps_steal());
}

/// A task that asks for something at the gate leaves by next(): to a team, or to wait there until it is granted, unless its worker
/// starts it.
TEST(policy_auto, what_is_at_the_gate_or_in_a_team_is_not_counted) {
    driven p("auto:of=share,memory=off");
    task& root = p.make(first_code);
    time_ns takes = 1000;
    const auto measures = [&] { // at another level all candidates are tried again
        takes *= 3;
        const auto before = p->choices().places.at(0).compared;
        for (int i = 0; i < 40; ++i) {
            p->run_begins(root, p.context.time);
            p->run_ended(p.context.time += takes);
        }
        return p->choices().places.at(0).compared > before;
    };
    for (int i = 0; i < 2; ++i) p.run(first_code, [](bool) { return 1000; });
    EXPECT_TRUE(measures());
    task& t = p.make(second_code);
    t.claims_ = true;
    p->ready(1, t, ready_reason::released);
    EXPECT_FALSE(measures()); // it is in a place
    EXPECT_EQ(p->next(1, true).t, &t);
    EXPECT_FALSE(measures()); // the gate may let it through
    p->turned_away(1);
    EXPECT_TRUE(measures());
    p->turned_away(1); // of a task that did not come from next()
    EXPECT_TRUE(measures());
    p->ready(2, t, ready_reason::granted);
    EXPECT_FALSE(measures());
    EXPECT_EQ(p->next(2, true).t, &t);
    EXPECT_FALSE(measures());
    p->started(2, t); // not in a team
    EXPECT_FALSE(measures());
    EXPECT_EQ(p->next(2, true).t, nullptr); // as inside of a wait of it
    EXPECT_FALSE(measures());
    p->blocked(2, t, ready_reason::unblocked);
    p->ready(1, t, ready_reason::unblocked);
    EXPECT_EQ(p->next(1, true).t, &t);
    p->resumed(1, t);
    EXPECT_EQ(p->next(1, true).t, nullptr);
    EXPECT_FALSE(measures());
    t.claims_ = false; // given back
    p->finished(2, t, {});
    EXPECT_TRUE(measures());
}

/// A graph has begun under a candidate that molds, and another one is present when a task of it comes.
TEST(policy_auto, a_task_that_comes_too_late_to_be_molded_runs_alone) {
    driven p("auto:of=hybrid,memory=off", two_speeds(4));
    EXPECT_FALSE(p->run_begins(p.make(first_code), 0).molds);
    task& wide = p.make(second_code);
    wide.molds_ = true;
    wide.width_ = 4;
    p->ready(2, wide, ready_reason::released);
    ASSERT_EQ(p->next(2, true).t, &wide);
    const elastic_place at = p->mold(2, wide);
    EXPECT_EQ(at.leader, 2);
    EXPECT_EQ(at.width, 1);
    task* const shares[] = {&wide};
    EXPECT_FALSE(p->keeps_share(2));
    p->assemble(2, shares, at);
    EXPECT_TRUE(p->keeps_share(2));
    EXPECT_FALSE(p->keeps_share(1));
    EXPECT_EQ(p->next(1, true).t, nullptr);
    EXPECT_EQ(p->next(2, false).t, &wide);
    EXPECT_FALSE(p->keeps_share(2));
}

TEST(policy_auto, it_says_why) {
    driven p("auto:of=share,memory=off");
    const auto last = [&] { return p->choices().places.at(0); };
    const auto runs = [&](int n, time_ns of_steal) {
        for (int i = 0; i < n; ++i) p.run(first_code, [&](bool silent) { return silent ? of_steal : 1000; });
    };
    runs(4, 1250);
    EXPECT_EQ(last().why, "share is not compared yet");
    runs(2, 1250);
    EXPECT_EQ(last().chosen, "steal");
    EXPECT_EQ(last().state, "other policies are tried");
    EXPECT_EQ(last().why, "share took 0.80 times as long (1 comparison)");
    runs(20, 1250);
    EXPECT_EQ(last().chosen, "share");
    EXPECT_EQ(last().state, "decided");
    EXPECT_EQ(last().why, "steal took 1.25 times as long (2 comparisons)");
    driven hopeless("auto:of=share,memory=off");
    for (int i = 0; i < 6; ++i) hopeless.run(first_code, [](bool silent) { return silent ? 1000 : 9000; });
    EXPECT_EQ(hopeless->choices().places.at(0).why, "share took over 3 times as long at once");
    driven alone("auto:memory=off", parse_toml("name = 'one'\n[[core_class]]\nname = 'c'\nfrequency_mhz = "
                                               "1000\n[regular]\npackages = 1\ndomains_per_package = "
                                               "1\ncores_per_domain = 1\n",
                                               "one"));
    alone.run(first_code, [](bool) { return 1000; });
    EXPECT_EQ(alone->choices().places.at(0).state, "the only candidate");
    EXPECT_EQ(alone->choices().places.at(0).why, "there is no other");
}

TEST(policy_auto, candidates_that_cannot_be_left_are_refused) {
    const auto message = [](const std::string& spec) -> std::string {
        try {
            driven p(spec);
        } catch (const error& e) { return e.what(); }
        return "";
    };
    EXPECT_NE(message("auto:of=cls").find("sends messages"), std::string::npos) << message("auto:of=cls");
    EXPECT_NE(message("auto:of=auto").find("follows runs itself"), std::string::npos);
    EXPECT_NE(message("auto:of=acs").find("is told of locks"), std::string::npos);
    EXPECT_NE(message("auto:of=nowhere").find("knob 'of': unknown policy"), std::string::npos);
    EXPECT_NE(message("auto:of=share+near+adws+static+dynamic+slaw+pws+mts").find("at most 8"),
              std::string::npos);
    EXPECT_EQ(message("auto:of=near:tries=2+share"), "");
}

TEST(policy_auto, more_places_than_it_can_tell_apart_share_the_last_one) {
    driven p("auto:of=share,memory=off");
    std::deque<std::string> names;
    for (int i = 0; i < 80; ++i) {
        task& root = p.make(first_code);
        root.hint_ = {.name = names.emplace_back("place " + std::to_string(i))};
        p->run_begins(root, p.context.time);
        p->run_ended(p.context.time += 1000);
    }
    const policy_choices c = p->choices();
    ASSERT_EQ(c.places.size(), 64U);
    EXPECT_EQ(c.places[0].place, "place_0");
    EXPECT_EQ(c.places[63].place, "others");
    EXPECT_EQ(c.places[63].runs, 17U);
}

// ---- memory

class auto_memory : public testing::Test {
protected:
    void TearDown() override { fs::remove_all(folder); }
    std::string spec() const { return "auto:of=share,memory=" + folder.string(); }
    std::vector<fs::path> files() const {
        std::vector<fs::path> found;
        if (fs::exists(folder))
            for (const auto& e : fs::directory_iterator(folder)) found.push_back(e.path());
        return found;
    }
    static std::string text(const fs::path& p) {
        std::ifstream in(p);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    /// What the first run of a process would be, and the process's report.
    std::pair<bool, policy_choices> next_process(const std::string& of, int workers = 4) {
        driven p(of, workers);
        const bool silent = p.run(first_code, [](bool is_silent) { return is_silent ? 2000 : 1000; });
        p->keep();
        return {silent, p->choices()};
    }

    const fs::path folder = fs::temp_directory_path() / ("weft_choices_" + std::to_string(getpid()));
};

TEST_F(auto_memory, the_next_process_begins_with_what_this_one_has_found) {
    std::vector<bool> silent;
    for (int i = 0; i < 12; ++i) silent.push_back(next_process(spec()).first); // one run in each
    EXPECT_TRUE(silent[0]);
    EXPECT_FALSE(silent[1]);
    EXPECT_TRUE(silent[2]);
    for (std::size_t i = 6; i < silent.size(); ++i) EXPECT_FALSE(silent[i]) << i;
    ASSERT_EQ(files().size(), 1U);
    const auto [last, report] = next_process(spec());
    EXPECT_EQ(report.places.at(0).chosen, "share");
    EXPECT_EQ(report.places.at(0).runs, 1U);
    EXPECT_EQ(report.memory, "kept in " + files()[0].string());
}

TEST_F(auto_memory, a_file_about_something_else_or_that_is_damaged_counts_as_none) {
    for (int i = 0; i < 8; ++i) next_process(spec());
    ASSERT_EQ(files().size(), 1U);
    const std::string good = text(files()[0]);
    EXPECT_FALSE(next_process(spec()).first);
    EXPECT_TRUE(next_process(spec(), 2).first);                                // other workers
    EXPECT_TRUE(next_process("auto:of=near,memory=" + folder.string()).first); // other candidates
}

TEST_F(auto_memory, each_kind_of_damage) {
    for (int i = 0; i < 8; ++i) next_process(spec());
    const fs::path file = files().at(0);
    const std::string good = text(file);
    std::string told;
    const auto with = [&](const std::string& what) {
        std::ofstream(file) << what;
        testing::internal::CaptureStderr();
        const bool silent = next_process(spec()).first;
        told = testing::internal::GetCapturedStderr();
        return silent;
    };
    const auto changed = [&](const std::string& from, const std::string& to) {
        std::string bad = good;
        const std::size_t at = bad.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return bad.replace(at, from.size(), to);
    };
    const auto says = [&](const std::string& why) {
        return told == "weft: policy auto: the choices in " + file.string() +
                           " do not count, and are found anew: " + why + "\n";
    };
    EXPECT_FALSE(with(good));
    EXPECT_EQ(told, "");
    EXPECT_TRUE(with(""));
    EXPECT_TRUE(says("its first line is not 'weft choices 1'")) << told;
    EXPECT_TRUE(with(changed("weft choices 1", "weft choices 2")));
    EXPECT_TRUE(with(changed("4 workers", "5 workers")));
    EXPECT_TRUE(with(changed("candidates steal share", "candidates steal near")));
    EXPECT_TRUE(says("it has other candidates")) << told;
    EXPECT_TRUE(with(good.substr(0, good.size() - 4))); // cut before the end
    EXPECT_TRUE(says("it has no end")) << told;
    EXPECT_TRUE(with(good.substr(0, good.size() / 2)));
    EXPECT_TRUE(with(changed("\n- ", "\n- nan ")));
    EXPECT_TRUE(says("place 1 of it is damaged")) << told;
    EXPECT_TRUE(with(changed(" 1 1 9 0\n- ", " 9 1 9 0\n- "))); // the best one is none of the candidates
}

TEST_F(auto_memory, where_nothing_can_be_written_it_says_so) {
    std::ofstream(folder) << "a file where the folder should be";
    testing::internal::CaptureStderr();
    const auto [silent, report] = next_process(spec());
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(silent);
    EXPECT_EQ(report.memory.find("not kept: "), 0U) << report.memory;
    EXPECT_EQ(told.find("weft: policy auto: what it has found is not kept: "), 0U) << told;
    EXPECT_NE(told.find(folder.string()), std::string::npos) << told;
    // The user has named no folder.
    unsetenv("WEFT_AUTO_MEMORY");
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
    testing::internal::CaptureStderr();
    driven here("auto:of=share", load_machine(""));
    here.run(first_code, [](bool) { return 1000; });
    here->keep();
    EXPECT_EQ(here->choices().memory.find("not kept: "), 0U) << here->choices().memory;
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    unsetenv("XDG_CACHE_HOME");
    EXPECT_EQ(next_process("auto:of=share,memory=off").second.memory, "off");
}

TEST_F(auto_memory, old_files_go) {
    next_process(spec());
    const auto old = fs::last_write_time(files().at(0)) - std::chrono::hours(1);
    for (std::size_t i = 0; i < kept_choices::most_files + 5; ++i) {
        const fs::path p = folder / (std::to_string(i) + ".choices");
        std::ofstream(p) << "old";
        fs::last_write_time(p, old);
    }
    std::ofstream(folder / "notes.txt") << "of another program";
    next_process(spec());
    EXPECT_EQ(files().size(), kept_choices::most_files + 1);
    EXPECT_TRUE(fs::exists(folder / "notes.txt"));
    EXPECT_FALSE(next_process(spec()).second.places.empty());
}

TEST_F(auto_memory, the_environment_says_where) {
    const auto with = [](const char* memory, const char* cache) {
        memory != nullptr ? setenv("WEFT_AUTO_MEMORY", memory, 1) : unsetenv("WEFT_AUTO_MEMORY");
        setenv("XDG_CACHE_HOME", cache, 1);
        setenv("HOME", "/home/user", 1);
        return folder_of_choices();
    };
    EXPECT_EQ(with("off", "/cache"), "");
    EXPECT_EQ(with("/elsewhere", "/cache"), "/elsewhere");
    EXPECT_EQ(with(nullptr, "/cache"), "/cache/weft/auto");
    EXPECT_EQ(with(nullptr, ""), "/home/user/.cache/weft/auto");
    EXPECT_EQ(with(nullptr, "not/absolute"), "/home/user/.cache/weft/auto");
}

} // namespace
} // namespace weft
