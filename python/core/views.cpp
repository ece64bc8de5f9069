#include "views.hpp"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

namespace nb = nanobind;

namespace weft {

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
