#include "answers.hpp"

#include "views.hpp"

#include <fmt/format.h>

#include <climits>
#include <optional>
#include <utility>

namespace nb = nanobind;

namespace weft {
namespace {

constexpr const char* place_allowed = "a number, weft.Placed, or None for the worker's own place";
constexpr const char* task_allowed = "a weft.Task, weft.Ask, weft.Looked, or None";
constexpr const char* range_allowed = "two numbers, a half-open range of workers, or None for all";

/// The value as Python shows it, cut where it is long; without the object's own say where that fails.
std::string shown(const nb::object& o) {
    const std::string type = Py_TYPE(o.ptr())->tp_name;
    const nb::object text = nb::steal(PyObject_Repr(o.ptr()));
    Py_ssize_t size = 0;
    const char* const bytes = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
    if (!bytes) {
        PyErr_Clear();
        return "a " + type;
    }
    std::string_view all(bytes, static_cast<std::size_t>(size));
    if (all.size() <= 80) return fmt::format("{} ({})", all, type);
    std::size_t cut = 77;
    while (cut > 0 && (static_cast<unsigned char>(all[cut]) & 0xc0) == 0x80) --cut; // between two characters
    return fmt::format("{}... ({})", all.substr(0, cut), type);
}

[[noreturn]] void refuse(const char* hook, const nb::object& answer, const char* allowed) {
    throw nb::type_error(
        fmt::format("{} has a wrong value; given: {}; allowed: {}", hook, shown(answer), allowed).c_str());
}

/// An int, or what counts as one, as NumPy's integers do.
std::optional<int> as_number(const nb::object& o) {
    if (!PyIndex_Check(o.ptr())) return std::nullopt;
    const nb::object whole = nb::steal(PyNumber_Index(o.ptr()));
    int overflow = 0;
    const long value = whole.is_valid() ? PyLong_AsLongAndOverflow(whole.ptr(), &overflow) : 0;
    if (!whole.is_valid() || PyErr_Occurred()) {
        PyErr_Clear();
        return std::nullopt;
    }
    if (overflow != 0 || value < INT_MIN || value > INT_MAX) return std::nullopt;
    return static_cast<int>(value);
}

int number_of(const nb::object& o, const char* what, const char* allowed) {
    const auto n = as_number(o);
    if (!n) refuse(what, o, allowed);
    return *n;
}

} // namespace

hosted::placed as_placed(const nb::object& answer) {
    if (answer.is_none()) return {};
    if (const auto place = as_number(answer)) return {.at = place};
    for (const char* needed : {"place", "who", "near"})
        if (!nb::hasattr(answer, needed)) refuse("what ready() returned", answer, place_allowed);
    return {.at = number_of(answer.attr("place"), "Placed.place", "a number"),
            .who = as_workers(answer.attr("who"), "Placed.who"),
            .near = number_of(answer.attr("near"), "Placed.near", "a worker's number, or -1 for the caller")};
}

hosted::found as_found(const nb::object& answer) {
    using kind = hosted::found::kind;
    if (answer.is_none()) return {};
    if (nb::isinstance<task_view>(answer)) {
        if (!nb::inst_ready(answer)) refuse("what next() returned", answer, task_allowed);
        return {.is = kind::a_task, .t = nb::inst_ptr<task_view>(answer)->of};
    }
    if (nb::hasattr(answer, "place"))
        return {.is = kind::at_place,
                .number = number_of(answer.attr("place"), "Looked.place", "the number of a place")};
    if (nb::hasattr(answer, "worker"))
        return {.is = kind::ask,
                .number = number_of(answer.attr("worker"), "Ask.worker", "the number of a worker")};
    refuse("what next() returned", answer, task_allowed);
}

std::optional<workers> as_workers(const nb::object& answer, const char* hook) {
    if (answer.is_none()) return {};
    if (!nb::isinstance<nb::sequence>(answer) || nb::isinstance<nb::str>(answer) || nb::len(answer) != 2)
        refuse(hook, answer, range_allowed);
    const auto first = as_number(answer[0]), last = as_number(answer[1]);
    if (!first || !last) refuse(hook, answer, range_allowed);
    return workers{*first, *last};
}

std::string as_word(const nb::object& answer, const char* hook, const char* allowed) {
    if (!nb::isinstance<nb::str>(answer)) refuse(hook, answer, allowed);
    Py_ssize_t size = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(answer.ptr(), &size);
    if (!bytes) {
        PyErr_Clear(); // half of a surrogate pair
        refuse(hook, answer, allowed);
    }
    return {bytes, static_cast<std::size_t>(size)};
}

bool as_truth(const nb::object& answer, const char* hook) {
    if (!nb::isinstance<nb::bool_>(answer)) refuse(hook, answer, "True or False");
    return nb::cast<bool>(answer);
}

elastic_place as_elastic_place(const nb::object& answer) {
    constexpr const char* allowed = "weft.Place, or two numbers: the worker with rank 0 and the width";
    if (!nb::isinstance<nb::sequence>(answer) || nb::isinstance<nb::str>(answer) || nb::len(answer) != 2)
        refuse("what mold() returned", answer, allowed);
    const auto leader = as_number(answer[0]), width = as_number(answer[1]);
    if (!leader || !width) refuse("what mold() returned", answer, allowed);
    return {*leader, *width};
}

int as_most_width(const nb::object& width) {
    const auto n = as_number(width);
    if (!n || *n < 0 || *n > max_width)
        refuse("most_width", width, fmt::format("0 to {}; 0: the policy does not mold", max_width).c_str());
    return *n;
}

time_ns as_period(const nb::object& period) {
    constexpr time_ns longest = 1'000'000'000'000;
    time_ns ns = -1;
    if (!PyLong_Check(period.ptr()) || !nb::try_cast(period, ns) || ns < 0 || ns > longest)
        refuse("tick_ns", period, "0 to 10^12 nanoseconds; 0: no ticks");
    return ns;
}

requirements as_requirements(const nb::object& needs) {
    constexpr const char* allowed = "a set of \"lazy\", \"usage\", \"uses\", \"levels\", \"snapshots\", "
                                    "\"exchanges\", \"graph_tasks\" and \"demotable\"";
    requirements r;
    const std::pair<const char*, bool requirements::*> words[] = {{"lazy", &requirements::lazy},
                                                                  {"usage", &requirements::own_usage},
                                                                  {"uses", &requirements::uses},
                                                                  {"levels", &requirements::levels},
                                                                  {"snapshots", &requirements::snapshots},
                                                                  {"exchanges", &requirements::exchanges},
                                                                  {"graph_tasks", &requirements::graph_tasks},
                                                                  {"demotable", &requirements::demotable}};
    const nb::object listed = nb::steal(PySequence_List(needs.ptr()));
    if (!listed.is_valid() || nb::isinstance<nb::str>(needs)) {
        PyErr_Clear();
        refuse("needs", needs, allowed);
    }
    for (nb::handle one : nb::cast<nb::list>(listed)) {
        const std::string word = as_word(nb::borrow(one), "a word of needs", allowed);
        bool is_known = false;
        for (const auto& [name, member] : words)
            if (word == name) r.*member = is_known = true;
        if (!is_known) refuse("a word of needs", nb::borrow(one), allowed);
    }
    return r;
}

} // namespace weft
