#include "views.hpp"

#include "hook_scope.hpp"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace nb = nanobind;

namespace weft {

namespace {

/// The policy's context, for a hook that asks.
policy_context& asked(const context_view& v) {
    if (v.of && !hook_scope::is_open())
        throw std::runtime_error("a context answers while a hook runs; given: a call from another thread; "
                                 "allowed: calls inside the hooks of the policy");
    return v.get();
}

worker_id checked(policy_context& c, int w) {
    if (!c.all().contains(w))
        throw nb::value_error(fmt::format("there is no such worker; given: {}; allowed: {} to {}", w,
                                          c.all().first, c.all().last - 1)
                                  .c_str());
    return w;
}

workers checked(policy_context& c, int first, int last) {
    if (first < c.all().first || last > c.all().last || first > last)
        throw nb::value_error(
            fmt::format(
                "there are no such workers; given: ({}, {}); allowed: a half-open range within ({}, {})",
                first, last, c.all().first, c.all().last)
                .c_str());
    return {first, last};
}

} // namespace

void bind_views(nb::module_& m) {
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
        .def_prop_ro(
            "width", [](const task_view& v) { return v.get().width(); },
            "Of a share: how many there are. Of a moldable task without shares: what the program has asked "
            "for.")
        .def_prop_ro(
            "molds", [](const task_view& v) { return v.get().molds(); },
            "A moldable task without its shares: mold() is asked when next() returns it; needs most_width.")
        .def_prop_ro(
            "is_share", [](const task_view& v) { return v.get().is_share(); },
            "Of a moldable task: its rank and width are its own.")
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
        .def_prop_ro("workers", [](const context_view& v) { return asked(v).all().size(); })
        .def(
            "core_of", [](const context_view& v, int w) { return asked(v).core_of(checked(asked(v), w)); },
            nb::arg("worker"), "Rank of the machine's core that it runs on.")
        .def(
            "now", [](const context_view& v) { return asked(v).now(); }, "Virtual nanoseconds.")
        .def(
            "running",
            [](const context_view& v, int w) {
                if (!v.has_snapshots)
                    throw std::runtime_error(
                        "no snapshots are kept; given: Context.running(); allowed: a policy "
                        "with \"snapshots\" in its needs, after attach()");
                const snapshot s = asked(v).running(checked(asked(v), w));
                nb::dict seen;
                seen["busy"] = s.busy;
                seen["id"] = s.id;
                seen["name"] = std::string(s.name);
                seen["priority"] = s.priority;
                seen["since_ns"] = s.since;
                seen["before_ns"] = s.before;
                seen["class"] = s.of_class;
                return seen;
            },
            nb::arg("worker"), "What the worker runs, and since when; needs \"snapshots\".")
        .def(
            "exchange",
            [](const context_view& v, int a, int b) {
                if (!v.may_exchange)
                    throw std::runtime_error(
                        "workers cannot change cores; given: Context.exchange(); allowed: a policy "
                        "with \"exchanges\" in its needs, after attach()");
                return asked(v).exchange(checked(asked(v), a), checked(asked(v), b));
            },
            nb::arg("worker"), nb::arg("other"),
            "The two workers change cores, and what they run goes on; needs \"exchanges\".")
        .def(
            "random",
            [](const context_view& v, int w, std::uint32_t below) {
                if (below == 0)
                    throw nb::value_error("random() below 0 is nothing; given: 0; allowed: 1 or more");
                return asked(v).random(checked(asked(v), w), below);
            },
            nb::arg("worker"), nb::arg("below"), "Uniform in [0, below), by the seed.")
        .def(
            "wake",
            [](const context_view& v, int first, int last) { asked(v).wake(checked(asked(v), first, last)); },
            nb::arg("first"), nb::arg("last"), "Sleepers of the half-open range look again.");
}

} // namespace weft
