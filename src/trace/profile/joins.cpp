#include "trace/profile/profile.hpp"

#include <utility>

/// What comes after what: the part of the profile that follows ends, edges and waits.
namespace weft::trace {

/// What comes after the end of the task comes after its longest path. `top`: what the worker runs next.
void profile::lead_on(std::uint32_t row, std::uint32_t top) {
    profiled_task& t = tasks_[row];
    const bool is_inside = t.how == start::inside;
    const std::uint32_t number = t.number;
    if (t.from == origin::child) ended_in(group_at(t.group), row);
    if (t.from == origin::share)
        if (const auto whole = tasks_.find(static_cast<std::uint32_t>(t.group)))
            paths_.follow(tasks_[whole].at, t.at);
    if (t.from == origin::root && !is_alive(t.parent, t.parent_life)) paths_.follow(outside_, t.at);
    if (t.from == origin::graph) return end_in_graph(row, top);
    if (t.is_fork) {
        if (is_inside && t.parent == top) join_fork(top, number);
        return; // else it stays until it was waited for
    }
    if (is_inside && top) paths_.follow(tasks_[top].at, t.at);
    forget(number);
}

void profile::end_in_graph(std::uint32_t row, std::uint32_t top) {
    profiled_task& t = tasks_[row];
    const std::uint32_t number = t.number;
    const auto at = graphs_.find(t.group);
    children& g = at->second;
    release_successors(number, t.at);
    ended_in(g, row);
    if (t.how == start::inside && top) paths_.follow(tasks_[top].at, t.at);
    if (!g.owner) paths_.follow(outside_, t.at);
    if (number - g.first >= g.count) return forget(number);
    if (++g.ended < g.count) return;
    // No edge comes from the tasks that the graph had at its beginning any more.
    for (std::uint64_t n = g.first; n < g.first + g.count; ++n) forget(static_cast<std::uint32_t>(n));
    if (g.owner) return;
    paths_.drop(g.longest);
    graphs_.erase(at);
}

void profile::ended_in(children& g, std::uint32_t row) {
    const profiled_task& t = tasks_[row];
    --g.open;
    paths_.follow(g.longest, t.at);
    g.serial.add(alone(t));
}

void profile::edge(const record& r) {
    const auto before = static_cast<std::uint32_t>(r.a), after = static_cast<std::uint32_t>(r.b);
    const std::uint32_t from = tasks_.find_or_add(before), to = tasks_.find_or_add(after);
    if (from == profiled_tasks::none || to == profiled_tasks::none) return;
    if (tasks_[from].has_ended)
        paths_.follow(tasks_[to].at, tasks_[from].at);
    else
        successors_[before].push_back(after);
}

void profile::release_successors(std::uint32_t number, const burdened_path& end) {
    const auto found = successors_.find(number);
    if (found == successors_.end()) return;
    for (const std::uint32_t after : found->second)
        if (const auto to = tasks_.find(after)) paths_.follow(tasks_[to].at, end);
    successors_.erase(found);
}

void profile::resume(std::uint32_t row) {
    running_.restore(row);
    const auto found = released_.find(row);
    if (found == released_.end()) return;
    if (const std::uint32_t top = running_.top()) paths_.follow(tasks_[top].at, found->second);
    has_crossings_ = true;
    paths_.drop(found->second);
    released_.erase(found);
}

void profile::waited(const record& r) {
    const std::uint32_t top = running_.top();
    if (top == profiled_tasks::none) return;
    if (r.b == 0) {
        if (const auto forked = tasks_.find(r.n); forked && tasks_[forked].has_ended) join_fork(top, r.n);
        return;
    }
    if (const auto g = groups_.find(r.b); g != groups_.end()) {
        join_children(top, g->second);
        if (g->second.open > 0) return;
        paths_.drop(g->second.longest); // the address may be another group's next
        if (last_group_ == r.b) last_children_ = nullptr;
        groups_.erase(g);
        return;
    }
    // The group of a run of a graph: its tasks carry the number of the run instead.
    for (auto g = graphs_.begin(); g != graphs_.end();) {
        const bool is_done = g->second.owner == top && g->second.open == 0;
        if (is_done) {
            join_children(top, g->second);
            paths_.drop(g->second.longest);
        }
        g = is_done ? graphs_.erase(g) : std::next(g);
    }
}

void profile::join_fork(std::uint32_t parent, std::uint32_t number) {
    const std::uint32_t row = tasks_.find(number);
    const profiled_task& t = tasks_[row];
    if (tasks_[parent].forks == row) [[likely]]
        tasks_[parent].forks = t.next_fork;
    else
        drop_unbegun(parent, row);
    join(tasks_[parent].at, t.at, alone(t));
    if (t.alike) {
        const std::int64_t time = passed_ - t.passed_before;
        // Where its path began is where that of its parent was.
        skipped_.ended(t.alike, time, tasks_[parent].at.length - t.began);
        if (row == sample_) {
            sample_ = 0;
            skipped_.end_sample(time, passed_);
        }
    }
    forget(number);
}

void profile::join_children(std::uint32_t parent, children& of) {
    if (of.longest.length == lengths{}) return;
    join(tasks_[parent].at, of.longest, std::exchange(of.serial, {}));
}

/// What the task takes if it runs after what it could run beside.
lengths profile::alone(const profiled_task& t) const noexcept {
    const lengths own = t.at.length - t.began;
    return has_crossings_ ? own.at_most(t.work) : own;
}

void profile::join(burdened_path& of, const burdened_path& other, const lengths& serial) {
    paths_.join(of, other, serial, burden_);
    if (has_crossings_) of.length = of.length.at_most(passed_); // as long as it was on this worker
}

void profile::forget(std::uint32_t number) {
    const std::uint32_t row = tasks_.find(number);
    if (row == profiled_tasks::none) return;
    if (tasks_[row].is_fork) --forks_;
    if (row == sample_) cancel_sample();
    paths_.drop(tasks_[row].at);
    tasks_.forget(number);
}

/// Forks of the task that are younger than `until`: an exception has ended them before their second closures began.
void profile::drop_unbegun(std::uint32_t parent, std::uint32_t until) {
    std::uint32_t f = tasks_[parent].forks;
    while (f != profiled_tasks::none && f != until) {
        const std::uint32_t next = tasks_[f].next_fork;
        if (!tasks_[f].has_begun) forget(tasks_[f].number);
        f = next;
    }
    tasks_[parent].forks = f == profiled_tasks::none ? f : tasks_[f].next_fork;
}

profile::children& profile::group_at(std::uint64_t address) {
    if (last_children_ && last_group_ == address) return *last_children_;
    last_group_ = address;
    return *(last_children_ = &groups_[address]);
}

profiled_program profile::finish(std::uint64_t at) {
    take_common();
    if (open_roots_ > 0)
        so_far_.is_complete = false;
    else
        leave_outside(at);
    so_far_.work += so_far_.outside;
    so_far_.span = outside_.length;
    so_far_.skipped = skipped_.add_to(so_far_.constructs);
    so_far_.tasks += so_far_.skipped.tasks;
    so_far_.path = paths_.shares_of(outside_);
    return std::exchange(so_far_, {});
}

} // namespace weft::trace
