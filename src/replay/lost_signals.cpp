#include "replay/signals.hpp"

#include <algorithm>
#include <vector>

namespace weft::replay {

namespace {

/// Visits the tasks that a run of the script reaches from its roots, each once.
class reachable_tasks {
public:
    explicit reachable_tasks(const script& s) : script_(s), seen_(s.tasks.size(), false) {
        for (const batch& b : s.batches)
            for (const batch::root& r : b.roots) r.is_graph ? reach_graph(r.number) : reach(r.number);
    }

    template <class Visit>
    void each_action(Visit&& visit) {
        while (!open_.empty()) {
            const row t = open_.back();
            open_.pop_back();
            for (const share& s : of_task(script_.shares, t)) reach(s.task);
            for (std::uint32_t i = script_.tasks[t].first; i < script_.tasks[t].last; ++i) {
                reach_from(script_.actions[i]);
                visit(script_.actions[i]);
            }
        }
    }

private:
    void reach(row t) {
        if (t == no_row || seen_[t]) return;
        seen_[t] = true;
        open_.push_back(t);
    }
    void reach_graph(std::uint32_t g) {
        for (const row t : script_.graphs[g]) reach(t);
    }
    void reach_from(const action& a) {
        switch (a.what) {
        case act::spawn:
        case act::fork:
        case act::async:
        case act::add: return reach(a.n);
        case act::start: return reach_graph(a.n);
        default: return;
        }
    }

    const script& script_;
    std::vector<bool> seen_;
    std::vector<row> open_;
};

} // namespace

void forget_lost_signals(script& s) {
    std::vector<bool> given(s.signals, false);
    reachable_tasks(s).each_action([&](const action& a) {
        if (a.what == act::release) given[a.n] = true;
    });
    for (action& a : s.actions)
        if (a.what == act::await && !given[a.n]) a = {.what = act::sleep};
}

} // namespace weft::replay
