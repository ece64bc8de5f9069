#include "trace/profile/profile.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace weft::trace {

namespace {

std::uint32_t number_of(const record& r) noexcept { return static_cast<std::uint32_t>(r.a); }

std::uint32_t construct_of(std::uint32_t name) noexcept { return std::min(name, of_others); }

} // namespace

profile::profile(std::optional<std::uint64_t> began, double ns, std::int64_t cost)
    : counts_outside_(began.has_value())
    , cost_(cost)
    , skipped_(ns)
    , outside_since_(began.value_or(0)) {
    for (std::size_t k = 0; k < burdens_ns.size(); ++k)
        burden_.of[k + 1] = static_cast<std::int64_t>(static_cast<double>(burdens_ns[k]) / ns);
}

std::uint32_t profile::new_task() noexcept {
    try {
        return tasks_.add();
    } catch (const std::bad_alloc&) {
        so_far_.is_complete = false;
        return profiled_tasks::none;
    }
}

void profile::take(const record& r) noexcept {
    try {
        if (has_common_.load(std::memory_order_relaxed)) [[unlikely]]
            take_common();
        process(r);
    } catch (const std::bad_alloc&) { so_far_.is_complete = false; }
}

void profile::take_outside(const record& r) noexcept {
    if (r.what_kind != kind::spawn && r.what_kind != kind::edge && r.what_kind != kind::graph) return;
    try {
        const std::lock_guard guard(common_lock_);
        common_.push_back(r);
        has_common_.store(true, std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {} // its tasks will be unknown, which is noticed when they begin
}

bool profile::skips(std::uint32_t name) noexcept {
    if (has_common_.load(std::memory_order_relaxed) || running_.top() == 0) return false;
    try {
        return chooses_to_skip(construct_of(name));
    } catch (const std::bad_alloc&) { return false; }
}

bool profile::chooses_to_skip(std::uint32_t construct) {
    using choice = skipped_forks::choice;
    if (sample_ && skipped_.lasts(passed_ - tasks_[sample_].passed_before)) cancel_sample();
    const choice c = skipped_.choose(construct, forks_, next_fork_);
    next_is_sample_ = c == choice::sample;
    if (c != choice::skip) return false;
    skipped_.begin_skipped(std::exchange(next_fork_, skipped_forks::kind_of_fork{0}));
    return true;
}

void profile::skipped_begins(std::uint64_t at) noexcept {
    try {
        pass(at);
        is_second_ = false;
    } catch (const std::bad_alloc&) { so_far_.is_complete = false; }
}

void profile::skipped_ends(std::uint64_t at, bool is_long) noexcept {
    try {
        if (is_long) { // it did not fork for a millisecond
            skipped_.skipped_wrongly();
            return pass(at);
        }
        const std::int64_t time = static_cast<std::int64_t>(at - since_) - cost_;
        since_ = at;
        unpassed_ += std::max<std::int64_t>(time, 0);
        if (!std::exchange(is_second_, true)) return;
        pass_skipped();
    } catch (const std::bad_alloc&) { so_far_.is_complete = false; }
}

void profile::skipped_is_followed(std::uint64_t at) noexcept {
    skipped_ends(at, false);
    skipped_.skipped_wrongly();
    skipped_.not_skipped();
}

/// The task on top has run the skipped fork, or a part of it.
void profile::pass_skipped() {
    const std::int64_t time = std::exchange(unpassed_, 0);
    const std::uint32_t top = running_.top();
    if (top == 0 || time == 0) return;
    profiled_task& t = tasks_[top];
    passed_ += time;
    t.work += time;
    so_far_.work += time;
    paths_.extend(t.at, skipped_.construct_of_skipped(), skipped_.skipped(time));
}

void profile::take_common() {
    std::vector<record> events;
    {
        const std::lock_guard guard(common_lock_);
        events.swap(common_);
        has_common_.store(false, std::memory_order_relaxed);
    }
    for (const record& r : events) {
        if (r.what_kind == kind::spawn)
            spawn(r, profiled_tasks::none);
        else if (r.what_kind == kind::edge)
            edge(r);
        else
            process(r);
    }
}

void profile::process(const record& r) {
    // Such a fork would not have been skipped to its end.
    if (sample_ && (r.what_kind != kind::spawn || r.what != static_cast<std::uint8_t>(origin::fork)) &&
        r.what_kind != kind::begin && r.what_kind != kind::end && event_sink::follows(r.what_kind))
        cancel_sample();
    switch (r.what_kind) {
    case kind::spawn: pass(r.at); return spawn(r, running_.top());
    case kind::begin: pass(r.at); return begin(r);
    case kind::end: pass(r.at); return end(r);
    case kind::edge: return edge(r);
    case kind::graph: {
        children& g = graphs_[r.a];
        g.first = r.a;
        g.count = r.b;
        g.owner = r.stream == outside ? 0 : running_.top();
        g.owner_life = tasks_[g.owner].life;
        return;
    }
    case kind::suspend: pass(r.at); return running_.suspend(tasks_.find(number_of(r)));
    case kind::expose: pass(r.at); return running_.expose(tasks_.find(number_of(r)));
    case kind::returned: pass(r.at); return running_.restore(tasks_.find(number_of(r)));
    case kind::resume: pass(r.at); return resume(tasks_.find(number_of(r)));
    case kind::wait: return pass(r.at);
    case kind::waited: pass(r.at); return waited(r);
    case kind::ready: {
        const std::uint32_t t = tasks_.find(number_of(r));
        if (r.what != reason_unblocked || t == profiled_tasks::none || running_.top() == 0) return;
        pass(r.at);
        return paths_.follow(released_[t], tasks_[running_.top()].at);
    }
    default: return;
    }
}

/// The task on top has run up to now: a piece of it has ended.
void profile::pass(std::uint64_t at) {
    if (unpassed_ > 0) [[unlikely]]
        pass_skipped();
    const std::int64_t time = static_cast<std::int64_t>(at - since_) - cost_;
    since_ = at;
    const std::uint32_t top = running_.top();
    if (top == 0 || time <= 0) return;
    profiled_task& t = tasks_[top];
    passed_ += time;
    t.own += time;
    t.longest = std::max(t.longest, time);
    if (skipped_.has_sample()) skipped_.add_own(t.construct, time);
    paths_.extend(t.at, t.construct, time);
}

void profile::spawn(const record& r, std::uint32_t parent) {
    const std::uint32_t row = tasks_.find_or_add(number_of(r));
    if (row == profiled_tasks::none) return;
    profiled_task& t = tasks_[row];
    t.number = number_of(r);
    t.from = static_cast<origin>(r.what);
    t.is_fork = t.from == origin::fork;
    forks_ += t.is_fork;
    t.group = r.b;
    t.construct = construct_of(r.n);
    if (t.from == origin::share) parent = tasks_.find(static_cast<std::uint32_t>(r.b));
    t.keeps_run = t.from == origin::root || (t.from == origin::graph && !parent);
    if (t.keeps_run && open_roots_++ == 0) leave_outside(r.at);
    burdened_path& from = parent ? tasks_[parent].at : outside_;
    if (t.at.is_empty())
        t.at = paths_.part(from);
    else
        paths_.follow(t.at, from); // an edge came before
    t.began = t.at.length;
    if (t.from == origin::child) ++group_at(t.group).open;
    if (t.from == origin::graph) ++graphs_[t.group].open;
    if (parent == profiled_tasks::none) return;
    profiled_task& of = tasks_[parent];
    t.parent = parent;
    t.parent_life = of.life;
    t.inside = of.inside;
    t.inside.set(of.construct);
    if (t.from == origin::share) t.construct = of.construct;
    if (!t.is_fork) return;
    t.passed_before = passed_;
    t.alike = std::exchange(next_fork_, skipped_forks::kind_of_fork{0});
    if (std::exchange(next_is_sample_, false)) {
        skipped_.begin_sample(t.alike);
        sample_ = row;
    }
    t.next_fork = std::exchange(of.forks, row);
    if (of.from == origin::runtime) { // a fork by which a run of a graph spreads; its place is in the library
        t.from = origin::runtime;
        t.construct = of_the_runtime;
    }
}

/// The program was outside of its runs until now.
void profile::leave_outside(std::uint64_t at) {
    if (!counts_outside_ || at <= outside_since_) return;
    const auto gap = static_cast<std::int64_t>(at - outside_since_);
    paths_.extend(outside_, outside_of_runs, gap);
    so_far_.outside += gap;
    passed_ += gap;
    outside_since_ = at;
}

void profile::begin(const record& r) {
    const std::uint32_t row = tasks_.find(number_of(r));
    if (row == profiled_tasks::none || tasks_[row].has_begun) {
        so_far_.is_complete = false;
        return;
    }
    profiled_task& t = tasks_[row];
    t.has_begun = true;
    t.how = static_cast<start>(r.what);
    t.began = t.at.length; // where it waited for others
    t.is_outermost = !t.inside.test(t.construct);
    running_.push(row, t.how == start::below);
}

void profile::end(const record& r) {
    const std::uint32_t row = tasks_.find(number_of(r));
    if (row == profiled_tasks::none || !tasks_[row].has_begun || tasks_[row].has_ended) return;
    running_.remove(row);
    profiled_task& t = tasks_[row];
    if (t.forks) drop_unbegun(row, profiled_tasks::none);
    t.has_ended = true;
    t.work += t.own;
    count(t);
    if (is_alive(t.parent, t.parent_life)) tasks_[t.parent].work += t.work;
    if (t.keeps_run && --open_roots_ == 0) outside_since_ = r.at;
    lead_on(row, running_.top());
}

void profile::count(const profiled_task& t) {
    construct_figures& c = so_far_.constructs[t.construct];
    ++so_far_.tasks;
    ++c.tasks;
    c.own += t.own;
    c.longest = std::max(c.longest, t.longest);
    so_far_.work += t.own;
    if (skipped_.has_sample()) skipped_.add_task(t.construct);
    if (!t.is_outermost) return;
    const std::int64_t span = t.at.length.plain() - t.began.plain();
    c.work += t.work;
    c.span += span;
    if (!skipped_.has_sample()) return;
    construct_figures& sampled = skipped_.of_sample(t.construct);
    sampled.work += t.work;
    sampled.span += span;
}

void profile::cancel_sample() noexcept {
    sample_ = 0;
    skipped_.cancel_sample();
}

} // namespace weft::trace
