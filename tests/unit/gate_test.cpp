// The gate without an engine: random tasks with random needs, workers that do one random thing after the
// other. No task gets more than there is, each gets what it needs, and none is passed over for ever.
#include "gate/gate.hpp"
#include "gate/load_resources.hpp"
#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <cstdlib>

namespace weft {
namespace {

std::uint64_t seed_of_this_run() {
    const char* const given = std::getenv("WEFT_TEST_SEED");
    return given ? std::stoull(given) : std::uint64_t{std::random_device{}()};
}

const machine& two_packages() {
    static const machine m =
        parse_toml("name = 'two packages'\n[[core_class]]\nname = 'core'\nfrequency_mhz = 1000\n"
                   "[regular]\npackages = 2\ndomains_per_package = 2\ncores_per_domain = 2\n",
                   "two packages");
    return m;
}

bool holds_all(const claim& c) {
    return std::ranges::all_of(c.parts, [](const claim::part& p) { return p.place >= 0; });
}

/// A task, and where it is.
struct actor {
    task t;
    claim c;
    long reserves_since = -1; ///< step
};

/// Random resources, tasks and steps.
class world {
public:
    explicit world(std::uint32_t seed)
        : random_(seed)
        , resources_(make_resources())
        , door_(std::move(table_), two_packages())
        , at_(static_cast<std::size_t>(two_packages().size())) {
        const int tasks = 5 + static_cast<int>(random_() % 60);
        for (int i = 0; i < tasks; ++i) make_actor();
        for (auto& a : actors_) ready_.push_back(&a);
        std::ranges::shuffle(ready_, random_);
    }

    /// Empty, or what went wrong.
    std::string run() {
        int idle_rounds = 0;
        std::size_t ended = 0;
        while (ended < actors_.size()) {
            const auto rank = static_cast<int>(random_() % at_.size());
            actor*& mine = at_[static_cast<std::size_t>(rank)];
            bool moved = true;
            if (!mine) {
                moved = start_something(rank, mine);
            } else if (const auto what = random_() % 4; what == 0) {
                suspended_.push_back(std::exchange(mine, nullptr));
                gate::released out;
                door_.rest(rank, suspended_.back()->c, out);
                take_in(out);
            } else if (what < 3) {
                gate::released out;
                door_.release(rank, std::exchange(mine, nullptr)->c, out);
                take_in(out);
                ++ended;
            }
            if (!suspended_.empty() && random_() % 3 == 0) {
                const auto at =
                    suspended_.begin() + static_cast<std::ptrdiff_t>(random_() % suspended_.size());
                ready_.push_back(*at);
                suspended_.erase(at);
                moved = true;
            }
            if (!wrong_.empty()) return wrong_;
            idle_rounds = moved ? 0 : idle_rounds + 1;
            if (++steps_ > 1'000'000 || idle_rounds > 10'000)
                return "nothing moves any more:\n" + door_.to_string() + to_string();
        }
        for (const auto* r : resources_)
            for (const auto& q : r->at)
                if (q.used != 0) return "something was kept";
        return "";
    }

private:
    std::vector<resource*> make_resources() {
        std::vector<resource*> all;
        const int count = 1 + static_cast<int>(random_() % 5);
        for (int i = 0; i < count; ++i) {
            auto r = std::make_unique<resource>();
            r->name = "r" + std::to_string(i);
            const auto total = static_cast<std::int64_t>(1 + random_() % 4);
            r->rests = random_() % 3 == 0;
            r->exceeds = random_() % 6 == 0;
            r->at.clear();
            switch (random_() % 4) {
            case 0:
                r->per = scope::package;
                for (const auto& p : two_packages().packages())
                    r->at.push_back({.total = total, .ranks = p.ranks});
                if (random_() % 2) r->at.pop_back();
                break;
            case 1:
                r->per = scope::cache;
                for (const auto& d : two_packages().domains())
                    r->at.push_back({.total = total, .ranks = d.ranks});
                break;
            default: r->at.push_back({.total = total});
            }
            all.push_back(r.get());
            table_.all.push_back(std::move(r));
        }
        if (count >= 2 && random_() % 3 == 0) {
            auto set = std::make_unique<exclusive_set>();
            set->members = {all[0], all[1]};
            all[0]->set = all[1]->set = set.get();
            // A task that held one and waited for the other would wait for itself.
            all[0]->rests = all[1]->rests = true;
            table_.sets.push_back(std::move(set));
        }
        table_.reserve_after = limit_ = 1 + static_cast<int>(random_() % 16);
        return all;
    }

    void make_actor() {
        actor& a = actors_.emplace_back();
        a.t.claim_ = &a.c;
        a.t.claims_ = true;
        std::vector<resource*> some = resources_;
        std::ranges::shuffle(some, random_);
        const std::size_t most = 1 + random_() % std::min<std::size_t>(some.size(), 3);
        for (resource* r : some) {
            if (a.c.parts.size() == most) break;
            const bool excluded = std::ranges::any_of(
                a.c.parts, [&](const claim::part& p) { return p.of->set && p.of->set == r->set; });
            if (excluded || !could_meet(a.c, *r)) continue;
            const auto amount = 1 + static_cast<std::int64_t>(random_()) % (r->most() + (r->exceeds ? 2 : 0));
            a.c.parts.push_back({r, amount});
        }
        a.c.check("a task");
    }

    std::string to_string() const {
        std::string text;
        for (const auto* r : resources_) {
            text += r->name + (r->rests ? " rests" : "") + (r->exceeds ? " exceeds" : "") +
                    (r->set ? " in the set" : "");
            for (const auto& q : r->at)
                text += " " + std::to_string(q.used) + "/" + std::to_string(q.total) + " at " +
                        std::to_string(q.ranks.first) + ".." + std::to_string(q.ranks.last);
            text += "\n";
        }
        for (const auto& a : actors_) {
            text += "task refused " + std::to_string(a.c.refusals) + " reserves from " +
                    std::to_string(a.c.reserved_by);
            for (const auto& p : a.c.parts)
                text += " " + std::to_string(p.amount) + " " + p.of->name + " in " + std::to_string(p.place);
            text += "\n";
        }
        return text;
    }

    /// There is a rank where all of it can be had.
    static bool could_meet(const claim& c, const resource& also) {
        for (int rank = 0; rank < two_packages().size(); ++rank) {
            const auto has = [&](const resource& r) {
                return !r.has_places() ||
                       std::ranges::any_of(r.at, [&](const auto& q) { return q.ranks.contains(rank); });
            };
            if (has(also) && std::ranges::all_of(c.parts, [&](const claim::part& p) { return has(*p.of); }))
                return true;
        }
        return false;
    }

    bool start_something(int rank, actor*& mine) {
        actor* a = nullptr;
        if (task* const t = door_.has_bound() ? door_.take_bound(rank) : nullptr) {
            a = &of(*t);
        } else if (!ready_.empty()) {
            const auto at = ready_.begin() + static_cast<std::ptrdiff_t>(random_() % ready_.size());
            a = *at;
            ready_.erase(at);
        } else {
            return false;
        }
        const bool held_before = holds_all(a->c);
        const bool may_pass = a->c.holds_some() || a->c.reserved_by >= 0;
        gate::released out;
        if (door_.admit(rank, a->t, a->c, out)) {
            mine = a;
            check_limits(*a, rank);
            if (!held_before && !may_pass) check_room_for_the_reserved(*a);
        }
        for (actor& other : actors_) {
            if (other.c.reserved_by < 0)
                other.reserves_since = -1;
            else if (other.reserves_since < 0)
                other.reserves_since = steps_;
            if (other.c.refusals > limit_) wrong_ = "more refusals than the limit";
        }
        take_in(out);
        return true;
    }

    void check_limits(const actor& a, int rank) {
        if (!holds_all(a.c)) wrong_ = "a task was let go without what it needs";
        for (const auto* r : resources_) {
            for (const auto& q : r->at)
                if (q.used < 0 || (q.used > q.total && !r->exceeds))
                    wrong_ = "more than there is of " + r->name;
            if (r->set && r->set->active != r)
                for (const auto& q : r->at)
                    if (q.used != 0) wrong_ = "two that exclude each other";
        }
        for (const auto& p : a.c.parts)
            if (p.of->has_places() && !p.of->at[static_cast<std::size_t>(p.place)].ranks.contains(rank))
                wrong_ = "a task runs elsewhere than what it needs";
    }

    /// `by`, which has reserved nothing, was let go: of what has one place, the task that reserved it first
    /// can still have it.
    void check_room_for_the_reserved(const actor& by) {
        for (const auto& p : by.c.parts) {
            if (p.of->has_places() || p.of->exceeds) continue;
            const actor* first = nullptr;
            bool both = false; // in the same step: which of them is first is the gate's business
            for (const actor& a : actors_) {
                const auto* its = a.c.part_of(*p.of);
                if (a.reserves_since < 0 || !its || its->place >= 0) continue;
                if (first && a.reserves_since == first->reserves_since) both = true;
                if (first && a.reserves_since >= first->reserves_since) continue;
                first = &a;
                both = false;
            }
            if (!first || both || first->reserves_since == steps_) continue;
            if (p.of->at[0].used + first->c.part_of(*p.of)->amount > p.of->at[0].total)
                wrong_ = "a task took what another one had reserved";
        }
    }

    void take_in(gate::released& out) {
        while (task* const t = out.tasks.pop_front()) ready_.push_back(&of(*t));
    }
    actor& of(task& t) {
        return *std::ranges::find_if(actors_, [&](const actor& a) { return &a.t == &t; });
    }

    std::minstd_rand random_;
    resource_table table_;
    int limit_ = 0;
    long steps_ = 0;
    std::vector<resource*> resources_;
    gate door_;
    std::deque<actor> actors_;
    std::vector<actor*> at_; ///< what the worker of each rank runs
    std::vector<actor*> ready_, suspended_;
    std::string wrong_;
};

TEST(gate, random_needs_are_met_within_limits_and_none_waits_for_ever) {
    const auto seed = static_cast<std::uint32_t>(seed_of_this_run());
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        world w(seed + i);
        ASSERT_EQ(w.run(), "") << "WEFT_TEST_SEED=" << seed + i;
    }
}

} // namespace
} // namespace weft
