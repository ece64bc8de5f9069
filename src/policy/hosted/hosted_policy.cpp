#include "policy/hosted/hosted_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

namespace weft::hosted {

namespace {

constexpr const char* reason_names[] = {"root",    "spawned",   "continuation", "joined",
                                        "moved",   "unblocked", "released",     "granted",
                                        "exposed", "preempted", "yielded"}; // by number
static_assert(std::size(reason_names) == static_cast<std::size_t>(ready_reason::yielded) + 1);

const char* name_of(ready_reason r) { return reason_names[static_cast<std::size_t>(r)]; }

/// ready() with one of these may be the first that a policy hears of a task.
bool may_be_first(ready_reason r) {
    return r == ready_reason::root || r == ready_reason::released || r == ready_reason::exposed;
}

spawn_order as_order(const std::string& word) {
    if (word == "child_first") return spawn_order::child_first;
    if (word == "parent_first") return spawn_order::parent_first;
    if (word == "call") return spawn_order::call;
    if (word == "lazy") return spawn_order::lazy;
    throw std::invalid_argument(fmt::format(
        "spawn() returned an unknown word; given: {}; allowed: child_first, parent_first, call, lazy", word));
}

after_wait as_after_wait(const std::string& word) {
    if (word == "stay") return after_wait::stay;
    if (word == "requeue") return after_wait::requeue;
    throw std::invalid_argument(
        fmt::format("group_wait() returned an unknown word; given: {}; allowed: stay, requeue", word));
}

} // namespace

hosted_policy::hosted_policy(std::unique_ptr<hooks> h, std::exception_ptr& failure)
    : hooks_(std::move(h))
    , failure_(failure) {}

requirements hosted_policy::attach(const machine& m, policy_context& c) {
    workers_ = c.all();
    sleeps_.assign(static_cast<std::size_t>(workers_.size()), false);
    engine_ = &c;
    requirements need = hooks_->attach(m, c);
    most_width_ = need.most_width = std::min(need.most_width, workers_.size());
    return need;
}

placement hosted_policy::ready(worker_id w, task& t, ready_reason reason) {
    blocked_.erase(&t);
    placement p{w, workers_};
    const bool is_new = may_be_first(reason) && t.fresh();
    if (call([&](hooks& h) { p = checked(h.ready(w, t, name_of(reason), is_new), w); })) {
        held_.add(t, p);
    } else {
        p = {w, workers_};
        held_.add_to_line(t, p);
    }
    return p;
}

decision hosted_policy::next(worker_id w, bool last_look) {
    decision answer;
    if (!call([&](hooks& h) { answer = checked(h.next(w, last_look), w); })) return held_.take_first(w);
    const bool found_nothing = !answer.t && !answer.ask;
    if (all_sleep(w, last_look && found_nothing) && blocked_.empty() &&
        (held_.any_for(w) || held_.any_share()))
        starve(w);
    return answer;
}

workers hosted_policy::victims(worker_id w) {
    workers answer{};
    static_cast<void>(call([&](hooks& h) { answer = checked(h.victims(w)); }));
    return answer;
}

elastic_place hosted_policy::mold(worker_id w, task& t) {
    elastic_place at{w, 1};
    static_cast<void>(call([&](hooks& h) { at = checked(h.mold(w, t)); }));
    return at;
}

void hosted_policy::assemble(worker_id w, std::span<task* const> shares, elastic_place at) {
    const bool kept = call([&](hooks& h) { h.assemble(w, shares, at); });
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const worker_id of = at.leader + static_cast<worker_id>(i);
        if (kept)
            held_.add_share(*shares[i], of);
        else
            held_.add_share_to_line(*shares[i], of);
        sleeps_[static_cast<std::size_t>(of - workers_.first)] = false; // the engine tells it
    }
}

spawn_order hosted_policy::spawn(worker_id w, task& parent, task& child) {
    spawn_order how = spawn_order::parent_first;
    static_cast<void>(call([&](hooks& h) { how = as_order(h.spawn(w, parent, child)); }));
    return how;
}

void hosted_policy::group_begin(worker_id w, task& t, group& g) {
    static_cast<void>(call([&](hooks& h) { h.group_begin(w, t, g); }));
}

after_wait hosted_policy::group_wait(worker_id w, task& t, group& g) {
    after_wait then = after_wait::stay;
    static_cast<void>(call([&](hooks& h) { then = as_after_wait(h.group_wait(w, t, g)); }));
    return then;
}

void hosted_policy::group_end(worker_id w, task& t, group& g) {
    static_cast<void>(call([&](hooks& h) { h.group_end(w, t, g); }));
}

void hosted_policy::started(worker_id w, task& t) {
    static_cast<void>(call([&](hooks& h) { h.started(w, t); }));
}

void hosted_policy::blocked(worker_id w, task& t, ready_reason reason) {
    if (reason == ready_reason::unblocked) blocked_.insert(&t);
    static_cast<void>(call([&](hooks& h) { h.blocked(w, t, name_of(reason)); }));
}

void hosted_policy::resumed(worker_id, task& t) { blocked_.erase(&t); }

void hosted_policy::finished(worker_id w, task& t, const usage& u) {
    static_cast<void>(call([&](hooks& h) { h.finished(w, t, u); }));
}

void hosted_policy::iteration(worker_id w, task& t, int number) {
    static_cast<void>(call([&](hooks& h) { h.iteration(w, t, number); }));
}

bool hosted_policy::gives_way(worker_id w, const task& t) {
    bool answer = true;
    static_cast<void>(call([&](hooks& h) { answer = h.gives_way(w, const_cast<task&>(t)); })); // a view of it
    return answer;
}

void hosted_policy::tick(time_ns now) {
    static_cast<void>(call([&](hooks& h) { h.tick(now); }));
}

// ---- failures

template <class Use>
bool hosted_policy::call(Use&& use) noexcept {
    if (failure_) return false;
    try {
        use(*hooks_);
        return true;
    } catch (...) { fail(std::current_exception()); }
    return false;
}

void hosted_policy::fail(std::exception_ptr e) noexcept {
    failure_ = std::move(e);
    held_.line_up();
}

/// No worker would ever look again: the run would hang.
void hosted_policy::starve(worker_id w) noexcept {
    fail(std::make_exception_ptr(std::runtime_error(fmt::format(
        "the policy keeps {} ready tasks and gives none to any worker; given: next(worker, last_look=True) "
        "returned no task for every worker, last for worker {}; allowed: a task that this worker may run",
        held_.size(), w))));
    engine_->wake(workers_);
}

/// Notes whether `w` goes to sleep now. True if it does and all others sleep.
bool hosted_policy::all_sleep(worker_id w, bool sleeps) {
    sleeps_[static_cast<std::size_t>(w - workers_.first)] = sleeps;
    return sleeps && std::ranges::all_of(sleeps_, std::identity{});
}

// ---- answers

placement hosted_policy::checked(const placed& answer, worker_id w) const {
    const place_id at = checked_place(answer.at.value_or(w));
    if (answer.near != -1 && !workers_.contains(answer.near))
        throw std::invalid_argument(
            fmt::format("there is no such worker to wake; given: {}; allowed: {} to {}, or -1 for the caller",
                        answer.near, workers_.first, workers_.last - 1));
    return {at, checked(answer.who), answer.near};
}

/// The workers' own places have their numbers; places that all share have any number from there on.
place_id hosted_policy::checked_place(int place) {
    if (place < 0)
        throw std::invalid_argument(fmt::format(
            "there is no such place; given: {}; allowed: 0 or more, a worker's number for its own place",
            place));
    return place;
}

workers hosted_policy::checked(const std::optional<workers>& answer) const {
    if (!answer) return workers_;
    const auto [first, last] = *answer;
    if (first < workers_.first || last > workers_.last || first > last)
        throw std::invalid_argument(fmt::format(
            "there are no such workers; given: ({}, {}); allowed: a half-open range within ({}, {})", first,
            last, workers_.first, workers_.last));
    return *answer;
}

elastic_place hosted_policy::checked(elastic_place answer) const {
    const auto [leader, width] = answer;
    if (width < 1 || width > most_width_ || leader < workers_.first || leader > workers_.last - width)
        throw std::invalid_argument(fmt::format("there is no such place for a moldable task; given: worker "
                                                "{} and a width of {}; allowed: a width of "
                                                "1 to {}, and workers from {} to {}",
                                                leader, width, most_width_, workers_.first,
                                                workers_.last - 1));
    return answer;
}

decision hosted_policy::checked(const found& answer, worker_id w) {
    switch (answer.is) {
    case found::kind::nothing: return {};
    case found::kind::at_place: return {nullptr, checked_place(answer.number)};
    case found::kind::a_task:
        if (!held_.holds(answer.t))
            throw std::invalid_argument(
                "next() has returned a task that is not ready; given: a task that runs, waits or has ended, "
                "or was returned before; allowed: a task that ready() was called with since");
        if (const worker_id only = held_.only_for(answer.t); only != held_tasks::no_worker && only != w)
            throw std::invalid_argument(
                fmt::format("next() has returned a share of a moldable task that another worker runs; given: "
                            "worker {}; allowed: worker {}",
                            w, only));
        return {answer.t, held_.take(answer.t)};
    case found::kind::ask:
        if (!workers_.contains(answer.number))
            throw std::invalid_argument(
                fmt::format("there is no such worker to ask; given: {}; allowed: {} to {}", answer.number,
                            workers_.first, workers_.last - 1));
        return {nullptr, answer.number, true};
    }
    return {};
}

} // namespace weft::hosted
