#pragma once

#include <weft/error.hpp>
#include <weft/hints.hpp>
#include <weft/impl/graph_node.hpp>
#include <weft/teams.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weft {

class graph;
namespace impl {
struct data_clause;
}

/// One task of a graph: what add() returns, and what after() takes. Small; valid as long as its graph.
class graph_task {
public:
    graph_task() noexcept = default; ///< no task
    /// In the order of adding, from 0.
    std::uint32_t number() const noexcept { return number_; }
    /// Is it a task?
    explicit operator bool() const noexcept { return of_ != nullptr; }

private:
    friend class graph;
    graph_task(const graph* of, std::uint32_t number) noexcept : of_(of), number_(number) {}

    const graph* of_ = nullptr;
    std::uint32_t number_ = 0;
};

/// A datum that is no object: what tasks declare accesses to instead of an lvalue. For one graph; found
/// without a search.
class datum {
public:
    datum() noexcept = default;
    datum(const datum&) = delete;
    datum& operator=(const datum&) = delete;

private:
    friend struct impl::data_clause;
    mutable std::uint32_t index_ = 0; ///< in the graph that knows it; 0: none yet
};

// ---- what a task says when it is added: the accesses of its body. The datum is the address; of a std::span,
// that of its first element. The size is kept for policies and for the dump.

namespace impl {
struct data_clause {
    const void* address = nullptr;
    std::size_t bytes = 0;
    data_mode mode = data_mode::read;
    std::uint32_t* index = nullptr; ///< of a weft::datum

    template <class T>
    static data_clause of(const T& x, data_mode mode) noexcept {
        if constexpr (std::is_same_v<T, datum>)
            return {&x, 0, mode, &x.index_};
        else if constexpr (requires { []<class U, std::size_t N>(const std::span<U, N>&) {}(x); })
            return {x.data(), x.size_bytes(), mode, nullptr};
        else
            return {std::addressof(x), sizeof(T), mode, nullptr};
    }
};
struct needs_clause {
    std::string_view resource;
    std::int64_t amount;
};
struct priority_clause {
    int value;
};
struct name_clause {
    std::string_view text;
};
template <std::size_t N>
struct after_clause {
    std::array<graph_task, N> tasks;
};
} // namespace impl

/// After all earlier writes, beside other readers.
template <class T>
impl::data_clause read(const T& x) noexcept {
    return impl::data_clause::of(x, impl::data_mode::read);
}
/// After all earlier reads and writes. Writing the whole datum or changing it is the same to a graph.
template <class T>
impl::data_clause write(const T& x) noexcept {
    return impl::data_clause::of(x, impl::data_mode::write);
}
/// The same as write().
template <class T>
impl::data_clause readwrite(const T& x) noexcept {
    return impl::data_clause::of(x, impl::data_mode::write);
}
/// Beside others that say the same, in any order; the body makes its changes atomic.
template <class T>
impl::data_clause concurrent(const T& x) noexcept {
    return impl::data_clause::of(x, impl::data_mode::concurrent);
}
/// Alone, but in any order with others that say the same: each changes the datum by turns.
template <class T>
impl::data_clause commutative(const T& x) noexcept {
    return impl::data_clause::of(x, impl::data_mode::commutative);
}
/// It runs while it has so much of a resource of the runtime (WEFT_RESOURCES, docs/resources.md) for itself.
/// All that a task needs, commutative data included, it gets at once or not at all. Throws weft::error, when
/// the task is added in a task of a runtime, else when the graph is started, for a resource that is not
/// known, and for more than there is.
inline impl::needs_clause needs(std::string_view resource, std::int64_t amount = 1) noexcept {
    return {resource, amount};
}
/// A hint: of tasks that are ready at the same time, the one with the larger number goes first.
inline impl::priority_clause priority(int value) noexcept { return {value}; }
/// The task's class, for reports and policies. Must outlive the graph (a literal).
inline impl::name_clause name(std::string_view text) noexcept { return {text}; }
/// After these tasks of the same graph; an empty handle is nothing.
template <class... Tasks>
impl::after_clause<sizeof...(Tasks)> after(const Tasks&... tasks) noexcept {
    return {{tasks...}};
}

/// How a graph works; all of it may be left out.
struct graph_options {
    /// Keeps what was declared, for policies that look at data and for dump(): 8 bytes an access, 24 a datum.
    /// Default: not if the graph is made in a task of a runtime whose policy does not look at it.
    std::optional<bool> record_accesses{};
    /// Each task runs once and is forgotten with its memory, for streams of tasks that are added while the
    /// graph runs. There is no order(), dot() or dump() then.
    bool once = false;
    /// Of graphs that run `once`: who adds while so many tasks have not ended waits until half of them have,
    /// or until for 10 ms none has. Tasks of the graph itself do not wait. 0: nobody does.
    std::uint32_t throttle = 65'536;
    /// For debugging: wait() throws weft::error, when all has run, if a task, or what it has spawned, touches
    /// (weft::touch) what it did not declare, or writes what it declared to read. What is touched is declared
    /// if any byte of it is; a task that declares a weft::datum is not checked.
    bool check_accesses = false;
};

/// Tasks that run when those have ended whose data they need:
///
///     weft::graph dag;
///     auto a = dag.add([&] { x = load(); }, weft::write(x));
///     dag.add([&] { y = f(x); }, weft::read(x), weft::write(y));
///     dag.add([&] { report(); }, weft::after(a), weft::name("report"));
///     dag.run();
///
/// What the accesses say is deduced in the order of adding: the result is that of the tasks run one after
/// another in that order. A graph may be run again and again; it keeps its tasks. Any thread may add, one at
/// a time or several; while it runs, its own tasks and others may add to it, and what they add runs too.
///
/// A task that throws: what depends on it does not run in this run, everything else does, and wait() rethrows
/// the first exception.
class graph {
public:
    /// A graph without tasks.
    explicit graph(const graph_options& = {});
    ~graph(); ///< waits; an exception that no wait() took goes with it
    graph(const graph&) = delete;
    graph& operator=(const graph&) = delete;

    /// `f` is moved (or copied) into the graph and called once in each run. A clause may be a range of
    /// clauses, such as a vector of what weft::read() returns, or of tasks to come after. Throws weft::error
    /// for tasks of another graph.
    template <class F, class... Clauses>
    graph_task add(F&& f, const Clauses&... clauses) {
        using closure = std::decay_t<F>;
        static_assert(std::is_invocable_v<closure&>, "a task of a graph is called without arguments");
        const addition a(*this);
        impl::graph_closure<closure>::make(*a.node, std::forward<F>(f));
        if constexpr (impl::is_moldable<closure>) make_moldable(*a.node);
        static_assert(impl::is_moldable<closure> || !(std::is_same_v<Clauses, impl::width_clause> || ...),
                      "a width is for weft::moldable bodies");
        (apply(*a.node, clauses), ...);
        return commit(a);
    }

    /// Of two tasks that are in the graph already: `later` waits for `earlier`. Not while it runs. Throws
    /// weft::error, naming the tasks, if `earlier` waits for `later` already.
    void order(graph_task earlier, graph_task later);

    void run(); ///< start() and wait()
    /// Begins a run. Throws weft::error if one is under way.
    void start();
    /// Returns when everything has run, what was added meanwhile included; rethrows the first exception.
    /// Throws weft::error in a task of this very run.
    void wait();

    std::size_t size() const noexcept; ///< tasks

    /// The tasks and what they wait for, in Graphviz's language. Not while it runs.
    std::string dot() const;
    /// A line for each task: its accesses as declared, and the tasks that it waits for. Not while it runs;
    /// throws weft::error if the accesses were not kept, see graph_options.
    std::string dump() const;

    struct state;

private:
    /// The adding of one task, under the graph's lock. Without a commit the task is not there.
    struct addition {
        explicit addition(graph&);
        ~addition();
        addition(const addition&) = delete;
        addition& operator=(const addition&) = delete;

        graph& to;
        impl::graph_node* node = nullptr;
        mutable bool is_open = true; ///< neither committed nor given up
    };

    void apply(impl::graph_node&, const impl::data_clause&);
    template <std::size_t N>
    void apply(impl::graph_node&, const impl::after_clause<N>& c) {
        for (const graph_task& t : c.tasks) wait_for(t);
    }
    template <class Clauses>
        requires requires(const Clauses& all) { std::begin(all), std::end(all); }
    void apply(impl::graph_node& n, const Clauses& all) {
        for (const auto& one : all) {
            if constexpr (std::is_same_v<std::decay_t<decltype(one)>, graph_task>)
                wait_for(one);
            else
                apply(n, one);
        }
    }
    void wait_for(const graph_task&);
    void apply(impl::graph_node&, const impl::needs_clause&);
    void make_moldable(impl::graph_node&);
    void apply(impl::graph_node&, const impl::cores_clause&);
    void apply(impl::graph_node&, impl::priority_clause);
    void apply(impl::graph_node&, impl::name_clause);
    void apply(impl::graph_node&, const hints&);
    graph_task commit(const addition&);

    std::unique_ptr<state> state_;
};

} // namespace weft
