#include "python_policy.hpp"

#include "machine_dict.hpp"

#include "policy/seam/policy.hpp"
#include "policy/seam/registry.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace weft {

struct python_policies::state {
    nb::object make;
    std::exception_ptr failure{}; ///< the first
};

namespace {

python_policies::state* present = nullptr;

/// The interpreter makes a state for each visit of a thread that is not its own, unless one is kept.
class known_thread {
public:
    known_thread() : had_(PyGILState_GetThisThreadState() != nullptr) {
        if (had_) return;
        lock_ = PyGILState_Ensure();
        state_ = PyEval_SaveThread();
    }
    ~known_thread() {
        if (had_) return;
        PyEval_RestoreThread(state_);
        PyGILState_Release(lock_);
    }

private:
    const bool had_;
    PyGILState_STATE lock_{};
    PyThreadState* state_ = nullptr;
};

constexpr const char* why_names[] = {"root",    "spawned",   "continuation", "joined",
                                     "moved",   "unblocked", "released",     "granted",
                                     "exposed", "preempted", "yielded"};
static_assert(std::size(why_names) == static_cast<std::size_t>(ready_reason::yielded) + 1);

/// What Python sees of something that is the engine's; null when that has gone.
template <class T>
struct view {
    T* of = nullptr;

    T& get() const {
        if (!of) throw std::runtime_error("it has ended, or the run is over");
        return *of;
    }
};
using task_view = view<task>;
using group_view = view<group>;
using context_view = view<policy_context>;

/// A policy in Python. Hooks of it that fail must not stop the engine, whose tasks are C++: the first failure
/// is kept, and from then on tasks come and go first in, first out.
class python_policy final : public policy {
public:
    explicit python_policy(python_policies::state& s) : state_(s) {
        const nb::gil_scoped_acquire here;
        nb::object made = s.make();
        for (const char* needed : {"ready", "next"})
            if (!nb::hasattr(made, needed))
                throw nb::type_error(
                    "a policy in Python derives from weft.Policy and has ready() and next()");
        self_ = std::move(made); // members of an object that is not finished go without the lock
    }
    ~python_policy() override {
        const nb::gil_scoped_acquire here;
        for (auto& [t, seen] : tasks_) nb::cast<task_view&>(seen).of = nullptr;
        for (auto& [g, seen] : groups_) nb::cast<group_view&>(seen).of = nullptr;
        tasks_.clear();
        groups_.clear();
        if (context_.is_valid()) nb::cast<context_view&>(context_).of = nullptr;
        context_.reset();
        self_.reset();
    }

    requirements attach(const machine& m, policy_context& c) override {
        const nb::gil_scoped_acquire here;
        workers_ = c.all();
        sleeps_.assign(static_cast<std::size_t>(workers_.size()), false);
        engine_ = &c;
        context_ = nb::cast(context_view{&c});
        requirements r;
        try {
            self_.attr("attach")(as_dict(m), context_);
            const auto needs = [&](const char* what) {
                return nb::cast<bool>(self_.attr("needs").attr("__contains__")(what));
            };
            r.lazy = needs("lazy");
            r.own_usage = needs("usage");
            r.uses = needs("uses");
            r.levels = needs("levels");
            r.demotable = needs("demotable");
        } catch (nb::python_error& e) { throw refused(e); }
        return r;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        blocked_.erase(&t);
        placement p{w, workers_};
        if (!with_python([&] {
                const bool is_new = reason == ready_reason::root || reason == ready_reason::released ||
                                    reason == ready_reason::exposed;
                const nb::object answer = self_.attr("ready")(w, seen(t, is_new && t.fresh()),
                                                              why_names[static_cast<std::size_t>(reason)]);
                p = as_placed(answer, w);
            })) {
            fallback_.push_back(&t);
            p = {w, workers_};
        }
        held_[&t] = p;
        return p;
    }

    decision next(worker_id w, bool last_look) override {
        decision answer;
        if (!with_python([&] { answer = as_pick(self_.attr("next")(w, last_look)); })) {
            if (fallback_.empty()) return {};
            task* const t = fallback_.front();
            fallback_.pop_front();
            return {t, take(held_.find(t))};
        }
        char& sleeps = sleeps_[static_cast<std::size_t>(w - workers_.first)];
        sleeps = last_look && !answer.t && !answer.ask;
        if (sleeps && blocked_.empty() && std::ranges::all_of(sleeps_, std::identity{}) &&
            std::ranges::any_of(held_, [w](const auto& h) { return h.second.who.contains(w); }))
            starve(w);
        return answer;
    }

    workers victims(worker_id w) override {
        workers answer{};
        static_cast<void>(with_python([&] { answer = as_workers(self_.attr("victims")(w)); }));
        return answer;
    }

    spawn_order spawn(worker_id w, task& parent, task& child) override {
        spawn_order how = spawn_order::parent_first;
        static_cast<void>(with_python([&] {
            const auto answer = self_.attr("spawn")(w, seen(parent), seen(child, true));
            how = as_order(nb::cast<std::string>(answer));
        }));
        return how;
    }

    void group_begin(worker_id w, task& t, group& g) override {
        static_cast<void>(with_python([&] { self_.attr("group_begin")(w, seen(t), seen(g)); }));
    }
    after_wait group_wait(worker_id w, task& t, group& g) override {
        after_wait then = after_wait::stay;
        static_cast<void>(with_python([&] {
            const nb::object answer = self_.attr("group_wait")(w, seen(t), seen(g));
            const auto word = nb::cast<std::string>(answer);
            if (word != "stay" && word != "requeue")
                throw nb::value_error(
                    fmt::format("group_wait() said something unknown; given: {}; allowed: stay, requeue",
                                word)
                        .c_str());
            if (word == "requeue") then = after_wait::requeue;
        }));
        return then;
    }
    void group_end(worker_id w, task& t, group& g) override {
        static_cast<void>(with_python([&] {
            self_.attr("group_end")(w, seen(t), seen(g));
            forget(groups_, &g);
        }));
    }
    void started(worker_id w, task& t) override {
        static_cast<void>(with_python([&] { self_.attr("started")(w, seen(t)); }));
    }
    void blocked(worker_id w, task& t, ready_reason reason) override {
        if (reason == ready_reason::unblocked) blocked_.insert(&t);
        static_cast<void>(with_python(
            [&] { self_.attr("blocked")(w, seen(t), why_names[static_cast<std::size_t>(reason)]); }));
    }
    void resumed(worker_id, task& t) override { blocked_.erase(&t); }
    void finished(worker_id w, task& t, const usage& u) override {
        static_cast<void>(with_python([&] {
            nb::dict used;
            used["self_ns"] = u.self;
            used["wall_ns"] = u.wall;
            used["cancelled"] = u.cancelled;
            self_.attr("finished")(w, seen(t), used);
            forget(tasks_, &t);
        }));
    }
    void iteration(worker_id w, task& t, int k) override {
        static_cast<void>(with_python([&] { self_.attr("iteration")(w, seen(t), k); }));
    }

private:
    /// False if `use` has failed, now or before.
    template <class Use>
    bool with_python(Use&& use) noexcept {
        if (state_.failure) return false;
        static thread_local const known_thread this_one;
        const nb::gil_scoped_acquire here;
        try {
            use();
            return true;
        } catch (...) { fail(std::current_exception()); }
        return false;
    }
    void fail(std::exception_ptr e) noexcept {
        state_.failure = std::move(e);
        for (const auto& [t, at] : held_) fallback_.push_back(t);
    }
    void starve(worker_id w) noexcept {
        fail(std::make_exception_ptr(std::runtime_error(fmt::format(
            "the policy keeps {} ready tasks and gives none to any worker; given: nothing by next(worker, "
            "last_look=True) for every worker, at last for worker {}; allowed: a task that this worker may "
            "run",
            held_.size(), w))));
        engine_->wake(workers_);
    }
    place_id take(std::unordered_map<task*, placement>::iterator held) {
        const place_id from = held->second.at;
        held_.erase(held);
        return from;
    }
    static error refused(nb::python_error& e) {
        return error("a policy in Python has failed in attach()", e.what(), "a policy that returns from it");
    }

    nb::object seen(task& t, bool is_new = false) {
        auto& known = tasks_[&t];
        if (is_new && known.is_valid()) {
            nb::cast<task_view&>(known).of = nullptr;
            known.reset();
        }
        if (!known.is_valid()) known = nb::cast(task_view{&t});
        return known;
    }
    nb::object seen(group& g) {
        auto& known = groups_[&g];
        if (!known.is_valid()) known = nb::cast(group_view{&g});
        return known;
    }
    template <class Map, class Key>
    static void forget(Map& all, Key* one) {
        const auto found = all.find(one);
        if (found == all.end()) return;
        nb::cast<view<Key>&>(found->second).of = nullptr;
        all.erase(found);
    }

    placement as_placed(const nb::object& answer, worker_id w) const {
        if (answer.is_none()) return {w, workers_};
        if (nb::isinstance<nb::int_>(answer)) return {nb::cast<int>(answer), workers_};
        return {nb::cast<int>(answer.attr("place")), as_workers(answer.attr("who")),
                nb::cast<int>(answer.attr("near"))};
    }
    workers as_workers(const nb::object& answer) const {
        if (answer.is_none()) return workers_;
        const auto first = nb::cast<int>(answer[0]), last = nb::cast<int>(answer[1]);
        if (first < workers_.first || last > workers_.last || first > last)
            throw nb::value_error(
                fmt::format("there are no such workers; given: ({}, {}); allowed: a half-open range "
                            "within ({}, {})",
                            first, last, workers_.first, workers_.last)
                    .c_str());
        return {first, last};
    }
    decision as_pick(const nb::object& answer) {
        if (answer.is_none()) return {};
        if (nb::isinstance<task_view>(answer)) {
            task* const t = nb::cast<task_view&>(answer).of;
            const auto held = held_.find(t);
            if (held == held_.end())
                throw nb::value_error("next() has returned a task that is not ready; given: one that runs, "
                                      "waits or has ended, or was "
                                      "returned before; allowed: one that ready() was called with since");
            return {t, take(held)};
        }
        if (nb::hasattr(answer, "place")) return {nullptr, nb::cast<int>(answer.attr("place"))};
        const auto whom = nb::cast<int>(answer.attr("worker"));
        if (!workers_.contains(whom))
            throw nb::value_error(fmt::format("there is no such worker to ask; given: {}; allowed: {} to {}",
                                              whom, workers_.first, workers_.last - 1)
                                      .c_str());
        return {nullptr, whom, true};
    }
    static spawn_order as_order(const std::string& word) {
        if (word == "child_first") return spawn_order::child_first;
        if (word == "parent_first") return spawn_order::parent_first;
        if (word == "call") return spawn_order::call;
        if (word == "lazy") return spawn_order::lazy;
        throw nb::value_error(fmt::format("spawn() said something unknown; given: {}; allowed: child_first, "
                                          "parent_first, call, lazy",
                                          word)
                                  .c_str());
    }

    python_policies::state& state_;
    nb::object self_;
    nb::object context_;
    policy_context* engine_ = nullptr;
    workers workers_{};
    std::unordered_map<task*, nb::object> tasks_;
    std::unordered_map<group*, nb::object> groups_;
    std::unordered_map<task*, placement> held_; ///< ready, and not given to a worker yet
    std::deque<task*> fallback_;                ///< of those, after a failure
    std::vector<char> sleeps_; ///< by worker: what it asked for last was its last look, and found nothing
    std::unordered_set<task*> blocked_; ///< tasks that something may still unblock
};

std::unique_ptr<policy> make_python_policy(const knob_values&) {
    if (!present)
        throw error("no policy in Python is at hand", python_policies::name, "weft.simulate(policy=...)");
    return std::make_unique<python_policy>(*present);
}

} // namespace

python_policies::python_policies(nb::object make) : state_(std::make_unique<state>(std::move(make))) {
    if (present) throw nb::value_error("policies in Python can be used by one simulation at a time");
    static const bool registered = [] {
        register_policy({.name = name,
                         .summary = "a policy written in Python, on modelled machines",
                         .source = "weft.Policy",
                         .knobs = {},
                         .make = make_python_policy});
        return true;
    }();
    static_cast<void>(registered);
    present = state_.get();
}

python_policies::~python_policies() { present = nullptr; }

void python_policies::rethrow() const {
    if (state_->failure) std::rethrow_exception(state_->failure);
}

void bind_policies(nb::module_& m) {
    nb::class_<task_view>(
        m, "Task", nb::dynamic_attr(),
        "A task as a policy sees it, from spawn() or ready() to finished(). A policy may keep "
        "attributes of its own in it.")
        .def_prop_ro(
            "id", [](const task_view& v) { return v.get().id(); }, "Hash of the path of child indexes.")
        .def_prop_ro("name", [](const task_view& v) { return std::string(v.get().hint().name); })
        .def_prop_ro(
            "level", [](const task_view& v) { return v.get().level(); }, "Root 0, child = parent + 1.")
        .def_prop_ro(
            "index", [](const task_view& v) { return v.get().index(); }, "Among the children of its group.")
        .def_prop_ro(
            "root", [](const task_view& v) { return v.get().root(); }, "Number of the root it descends from.")
        .def_prop_ro(
            "work", [](const task_view& v) { return v.get().hint().work; }, "Hint, relative; 0: unknown.")
        .def_prop_ro(
            "bytes", [](const task_view& v) { return v.get().hint().bytes; }, "Hint; 0: unknown.")
        .def_prop_ro("priority", [](const task_view& v) { return v.get().hint().priority; })
        .def_prop_ro(
            "children", [](const task_view& v) { return v.get().hint().children; }, "Hint; 0: unknown.")
        .def_prop_ro(
            "rank", [](const task_view& v) { return v.get().rank(); }, "Of a moldable task's share.")
        .def_prop_ro("width", [](const task_view& v) { return v.get().width(); })
        .def_prop_ro(
            "graph", [](const task_view& v) { return v.get().graph(); }, "The run of a graph; 0: none.")
        .def_prop_ro("graph_number", [](const task_view& v) { return v.get().graph_number(); })
        .def_prop_ro(
            "bottom_level", [](const task_view& v) { return v.get().bottom_level(); },
            "Tasks on the longest way to an end of its graph; needs \"levels\".")
        .def_prop_ro(
            "is_last", [](const task_view& v) { return v.get().last(); }, "The second closure of a join.")
        .def_prop_ro(
            "is_fresh", [](const task_view& v) { return v.get().fresh(); }, "Its body has not begun.")
        .def_prop_ro(
            "uses",
            [](const task_view& v) {
                nb::list all;
                for (const data_access& u : v.get().uses()) {
                    nb::dict one;
                    one["datum"] = u.datum;
                    one["bytes"] = u.bytes;
                    one["mode"] = u.mode;
                    one["home"] = u.home;
                    all.append(one);
                }
                return all;
            },
            "Data that a graph's task declares; needs \"uses\".");
    nb::class_<group_view>(m, "Group", nb::dynamic_attr(), "A group, from group_begin() to group_end().")
        .def_prop_ro("id", [](const group_view& v) { return v.get().id(); })
        .def_prop_ro("name", [](const group_view& v) { return std::string(v.get().hint().name); })
        .def_prop_ro("work", [](const group_view& v) { return v.get().hint().work; })
        .def_prop_ro("bytes", [](const group_view& v) { return v.get().hint().bytes; });
    nb::class_<context_view>(m, "Context", "What a policy may ask, during the run.")
        .def_prop_ro("workers", [](const context_view& v) { return v.get().all().size(); })
        .def(
            "core_of", [](const context_view& v, int w) { return v.get().core_of(w); }, nb::arg("worker"),
            "Rank of the machine's core that it runs on.")
        .def(
            "now", [](const context_view& v) { return v.get().now(); }, "Virtual nanoseconds.")
        .def(
            "random",
            [](const context_view& v, int w, std::uint32_t below) {
                if (below == 0)
                    throw nb::value_error("random() below 0 is nothing; given: 0; allowed: 1 or more");
                return v.get().random(w, below);
            },
            nb::arg("worker"), nb::arg("below"), "Uniform in [0, below), by the seed.")
        .def(
            "wake", [](const context_view& v, int first, int last) { v.get().wake({first, last}); },
            nb::arg("first"), nb::arg("last"), "Sleepers of the half-open range look again.");
}

} // namespace weft
