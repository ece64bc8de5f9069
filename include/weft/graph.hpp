#pragma once

#include <weft/concepts.hpp>
#include <weft/error.hpp>
#include <weft/hints.hpp>
#include <weft/impl/graph_node.hpp>
#include <weft/teams.hpp>

#include <array>
#include <atomic>
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

/// A handle of a task of a graph: add() returns it, and after() takes it. Valid as long as its graph exists.
class graph_task {
public:
    graph_task() noexcept = default; ///< the empty handle
    /// Number of the task, from 0, in the order of adding.
    std::uint32_t number() const noexcept { return number_; }
    /// True unless the handle is empty.
    explicit operator bool() const noexcept { return of_ != nullptr; }

private:
    friend class graph;
    graph_task(const graph* of, std::uint32_t number) noexcept : of_(of), number_(number) {}

    const graph* of_ = nullptr;
    std::uint32_t number_ = 0;
};

namespace impl {
/// Where a datum that is no object belongs.
struct datum_place {
    std::atomic<std::uint64_t> graph{0}; ///< number of the graph in the process; 0: none yet. It is set once.
    std::uint32_t index = 0;             ///< in that graph, guarded by its lock; 0: none yet
};
} // namespace impl

/// A datum that is no object. Tasks declare accesses to it instead of to an lvalue. It belongs to the graph whose task
/// was the first to declare it, which finds it without a search; adding a task that declares it to another graph
/// throws weft::error.
class datum {
public:
    datum() noexcept = default;
    datum(const datum&) = delete;
    datum& operator=(const datum&) = delete;

private:
    friend struct impl::data_clause;
    [[maybe_unused]] mutable impl::datum_place place_{};
};

// ---- what a task declares when it is added: the accesses of its body. A datum is identified by its address,
// a std::span by the address of its first element. The size is kept for policies and for the dump.

namespace impl {
struct data_clause {
    const void* address = nullptr;
    std::size_t bytes = 0;
    data_mode mode = data_mode::read;
    datum_place* place = nullptr; ///< of a weft::datum

    template <class T>
    static data_clause of(const T& x, data_mode mode) noexcept {
        if constexpr (std::is_same_v<T, datum>)
            return {&x, 0, mode, &x.place_};
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

/// The task reads `x`: it runs after all earlier writers, at the same time as other readers.
template <class T>
impl::data_clause read(const T& x) noexcept {
    return impl::data_clause::of(x, impl::data_mode::read);
}
/// The task writes `x`: it runs after all earlier readers and writers. A graph does not distinguish writing
/// from changing.
template <class T>
impl::data_clause write(const T& x) noexcept {
    return impl::data_clause::of(x, impl::data_mode::write);
}
/// The same as write().
template <class T>
impl::data_clause readwrite(const T& x) noexcept {
    return impl::data_clause::of(x, impl::data_mode::write);
}
/// The task changes `x` at the same time as other tasks that declare the same, in any order. The body must
/// make its changes atomically.
template <class T>
impl::data_clause concurrent(const T& x) noexcept {
    return impl::data_clause::of(x, impl::data_mode::concurrent);
}
/// The task changes `x` in any order with other tasks that declare the same, one at a time.
template <class T>
impl::data_clause commutative(const T& x) noexcept {
    return impl::data_clause::of(x, impl::data_mode::commutative);
}
/// The task holds `amount` of a resource of the runtime (WEFT_RESOURCES, docs/resources.md) while it runs. A
/// task gets everything that it needs, commutative data included, at once or not at all. Throws weft::error
/// for an unknown resource, and for more than there is: when the task is added, if that is done by a task of
/// a runtime; otherwise when the graph is started.
inline impl::needs_clause needs(std::string_view resource, std::int64_t amount = 1) noexcept {
    return {resource, amount};
}
/// A hint: of tasks that are ready at the same time, the one with the larger number runs first.
inline impl::priority_clause priority(int value) noexcept { return {value}; }
/// The task's class, for reports and policies. Must outlive the graph (a literal).
inline impl::name_clause name(std::string_view text) noexcept { return {text}; }
/// The task runs after these tasks of the same graph. An empty handle is ignored.
template <class... Tasks>
impl::after_clause<sizeof...(Tasks)> after(const Tasks&... tasks) noexcept {
    return {{tasks...}};
}

/// Options of a graph; each has a default.
struct graph_options {
    /// Keeps the declared accesses, for policies that read them and for dump(): 8 bytes per access, 24 bytes
    /// per datum. Default: true, unless the graph is made in a task of a runtime whose policy does not read
    /// them.
    std::optional<bool> record_accesses{};
    /// Each task runs once and its memory is then freed, for streams of tasks that are added while the graph
    /// runs. order(), dot() and dump() are not available then.
    bool once = false;
    /// For `once`: if this many tasks have not ended, a caller that adds a task waits until half of them have
    /// ended, or until no task has ended for 10 ms. Tasks of the graph itself do not wait. 0: no caller
    /// waits.
    std::uint32_t throttle = 65'536;
    /// For debugging: at the end of the run, wait() throws weft::error if a task, or a task that it spawned,
    /// touched data (weft::touch) that it did not declare, or wrote data that it declared to read. Touched
    /// data count as declared if any byte of them is. A task that declares a weft::datum is not checked.
    bool check_accesses = false;
};

/// A graph of tasks. A task runs when the tasks have ended whose data it needs:
///
///     weft::graph dag;
///     auto a = dag.add([&] { x = load(); }, weft::write(x));
///     dag.add([&] { y = f(x); }, weft::read(x), weft::write(y));
///     dag.add([&] { report(); }, weft::after(a), weft::name("report"));
///     dag.run();
///
/// The graph deduces dependences from the accesses, in the order of adding: the result is that of the tasks
/// run one after another in that order. A graph keeps its tasks and may run many times. Any thread may add
/// tasks, several at the same time. While the graph runs, its own tasks and other threads may add tasks,
/// which run too.
///
/// If a task throws, the tasks that depend on it do not run in this run, and all others do. wait() rethrows
/// the first exception.
class graph {
public:
    /// A graph without tasks.
    explicit graph(const graph_options& = {});
    ~graph(); ///< waits; drops an exception that no wait() rethrew
    graph(const graph&) = delete;
    graph& operator=(const graph&) = delete;

    /// Adds a task that calls `f()` once in each run. `f` is moved (or copied) into the graph. A clause may
    /// be a range of clauses, such as a vector of results of weft::read(), or of tasks to wait for. Throws
    /// weft::error for tasks of another graph.
    template <TaskBody F, class... Clauses>
    graph_task add(F&& f, const Clauses&... clauses) {
        using closure = std::decay_t<F>;
        const addition a(*this);
        impl::graph_closure<closure>::make(*a.node, std::forward<F>(f));
        if constexpr (impl::is_moldable<closure>) make_moldable(*a.node);
        static_assert(impl::is_moldable<closure> || !(std::is_same_v<Clauses, impl::width_clause> || ...),
                      "a width is for weft::moldable bodies");
        (apply(*a.node, clauses), ...);
        return commit(a);
    }
    /// @cond
    impl::not_a::TaskBody add(impl::any, impl::any = {}, impl::any = {}, impl::any = {}, impl::any = {},
                              impl::any = {})
        WEFT_REJECTED("TaskBody: f is moved or copied into the graph, and called without arguments");
    /// @endcond

    /// Makes `later` wait for `earlier`; both are tasks of this graph. Must not be called while the graph
    /// runs. Throws weft::error, which names the tasks, if `earlier` already waits for `later`.
    void order(graph_task earlier, graph_task later);

    void run(); ///< start() and wait()
    /// Begins a run. Throws weft::error if a run has not ended.
    void start();
    /// Returns when all tasks have run, including those that were added meanwhile, and rethrows the first
    /// exception. Throws weft::error if a task of this run calls it.
    void wait();

    std::size_t size() const noexcept; ///< number of tasks

    /// The tasks and their dependences in Graphviz's language. Must not be called while the graph runs.
    std::string dot() const;
    /// A line for each task with its declared accesses and the tasks that it waits for. Must not be called
    /// while the graph runs. Throws weft::error if the accesses were not kept, see
    /// graph_options::record_accesses.
    std::string dump() const;

    struct state;

private:
    /// The addition of one task, under the graph's lock. Without a commit the task is not added.
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
