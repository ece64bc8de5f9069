#include "python_policy.hpp"

#include "answers.hpp"
#include "hook_scope.hpp"
#include "machine_dict.hpp"
#include "views.hpp"

#include "policy/hosted/hooks.hpp"
#include "policy/hosted/hosted_policy.hpp"
#include "policy/seam/registry.hpp"

#include <weft/error.hpp>

#include <nanobind/stl/string.h>

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

namespace nb = nanobind;

namespace weft {

struct python_policies::state {
    nb::object make;
    std::exception_ptr failure{}; ///< the first
};

namespace {

python_policies::state* present = nullptr;

/// Keeps a state of the interpreter for this thread. Without it, the interpreter makes one for each visit of
/// a thread that is not its own.
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

nb::dict as_dict(const usage& u) {
    nb::dict used;
    used["self_ns"] = u.self;
    used["wall_ns"] = u.wall;
    used["cancelled"] = u.cancelled;
    return used;
}

/// The objects that Python has for tasks or groups of the engine.
template <class T>
class views {
public:
    nb::object of(T& one) {
        nb::object& known = all_[&one];
        if (!known.is_valid()) known = nb::cast(view<T>{&one});
        return known;
    }
    nb::object of_new(T& one) {
        forget(one);
        return of(one);
    }
    /// It has gone; Python may keep the object.
    void forget(T& one) {
        const auto found = all_.find(&one);
        if (found == all_.end()) return;
        nb::cast<view<T>&>(found->second).of = nullptr;
        all_.erase(found);
    }
    void forget_all() {
        for (auto& [one, known] : all_) nb::cast<view<T>&>(known).of = nullptr;
        all_.clear();
    }

private:
    std::unordered_map<T*, nb::object> all_;
};

/// Calls the methods of a Python object, with the interpreter's lock held.
class python_hooks final : public hosted::hooks {
public:
    explicit python_hooks(const nb::object& make) {
        const nb::gil_scoped_acquire lock;
        const hook_scope in_hook;
        nb::object made = make();
        for (const char* needed : {"ready", "next"})
            if (!nb::hasattr(made, needed))
                throw nb::type_error(
                    "a policy in Python derives from weft.Policy and has ready() and next()");
        self_ = std::move(made); // only now: an exception above would destroy members without the lock
    }
    ~python_hooks() override {
        const nb::gil_scoped_acquire lock;
        tasks_.forget_all();
        groups_.forget_all();
        if (context_.is_valid()) nb::cast<context_view&>(context_).of = nullptr;
        context_.reset();
        self_.reset();
    }

    requirements attach(const machine& m, policy_context& c) override {
        const nb::gil_scoped_acquire lock;
        const hook_scope in_hook;
        context_ = nb::cast(context_view{{&c}});
        try {
            self_.attr("attach")(weft::as_dict(m), context_);
            requirements r = as_requirements(self_.attr("needs"));
            r.tick = as_period(self_.attr("tick_ns"));
            r.most_width = as_most_width(self_.attr("most_width"));
            nb::cast<context_view&>(context_).has_snapshots = r.snapshots;
            nb::cast<context_view&>(context_).may_exchange = r.exchanges;
            return r;
        } catch (const nb::python_error& e) {
            throw error("a policy in Python has failed in attach()", e.what(),
                        "a policy that returns from it");
        } catch (const nb::builtin_exception& e) {
            throw error("a policy in Python cannot be attached", e.what(), "a policy as weft.Policy says");
        }
    }

    hosted::placed ready(worker_id w, task& t, const char* reason, bool is_new) override {
        const visit v;
        return as_placed(self_.attr("ready")(w, is_new ? tasks_.of_new(t) : tasks_.of(t), reason));
    }
    hosted::found next(worker_id w, bool last_look) override {
        const visit v;
        return as_found(self_.attr("next")(w, last_look));
    }
    std::optional<workers> victims(worker_id w) override {
        const visit v;
        return as_workers(self_.attr("victims")(w), "what victims() returned");
    }
    elastic_place mold(worker_id w, task& t) override {
        const visit v;
        return as_elastic_place(self_.attr("mold")(w, tasks_.of(t)));
    }
    void assemble(worker_id w, std::span<task* const> shares, elastic_place at) override {
        const visit v;
        nb::list all;
        for (task* const t : shares) all.append(t == shares.front() ? tasks_.of(*t) : tasks_.of_new(*t));
        self_.attr("assemble")(w, all, nb::make_tuple(at.leader, at.width));
    }
    std::string spawn(worker_id w, task& parent, task& child) override {
        const visit v;
        return as_word(self_.attr("spawn")(w, tasks_.of(parent), tasks_.of_new(child)),
                       "what spawn() returned", "child_first, parent_first, call, lazy");
    }
    void group_begin(worker_id w, task& t, group& g) override {
        const visit v;
        self_.attr("group_begin")(w, tasks_.of(t), groups_.of(g));
    }
    std::string group_wait(worker_id w, task& t, group& g) override {
        const visit v;
        return as_word(self_.attr("group_wait")(w, tasks_.of(t), groups_.of(g)), "what group_wait() returned",
                       "stay, requeue");
    }
    void group_end(worker_id w, task& t, group& g) override {
        const visit v;
        self_.attr("group_end")(w, tasks_.of(t), groups_.of(g));
        groups_.forget(g);
    }
    void started(worker_id w, task& t) override {
        const visit v;
        self_.attr("started")(w, tasks_.of(t));
    }
    void blocked(worker_id w, task& t, const char* reason) override {
        const visit v;
        self_.attr("blocked")(w, tasks_.of(t), reason);
    }
    void finished(worker_id w, task& t, const usage& u) override {
        const visit v;
        self_.attr("finished")(w, tasks_.of(t), as_dict(u));
        tasks_.forget(t);
    }
    void iteration(worker_id w, task& t, int number) override {
        const visit v;
        self_.attr("iteration")(w, tasks_.of(t), number);
    }
    bool gives_way(worker_id w, task& t) override {
        const visit v;
        return as_truth(self_.attr("gives_way")(w, tasks_.of(t)), "what gives_way() returned");
    }
    void tick(time_ns now) override {
        const visit v;
        self_.attr("tick")(now);
    }

private:
    /// One call into Python by the thread that runs the model. The order of the members counts: the thread is
    /// known before it takes the lock.
    class visit {
        struct this_thread_is_known {
            this_thread_is_known() { static thread_local const known_thread this_one; }
        };
        [[no_unique_address]] const this_thread_is_known known_{};
        const nb::gil_scoped_acquire lock_{};
        const hook_scope in_hook_{};
    };

    nb::object self_;
    nb::object context_;
    views<task> tasks_;
    views<group> groups_;
};

std::unique_ptr<policy> make_python_policy(const knob_values&) {
    if (!present)
        throw error("there is no policy in Python", python_policies::name, "weft.simulate(policy=...)");
    return std::make_unique<hosted::hosted_policy>(std::make_unique<python_hooks>(present->make),
                                                   present->failure);
}

} // namespace

void hook_scope::refuse(const char* function) {
    if (is_open())
        throw std::runtime_error(
            fmt::format("{} runs a machine of its own and was called inside a hook of a policy; given: the "
                        "thread of a simulation; allowed: before or after the simulation",
                        function));
}

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

} // namespace weft
