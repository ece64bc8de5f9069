#pragma once

#include <weft/concepts.hpp>
#include <weft/impl/storage.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft {

/// One element of type T for each worker that asks for it, made at its first call of local():
///
///     weft::per_worker<long> sums;
///     weft::parallel_for(0, n, [&](int i) { sums.local() += f(i); });
///     const long sum = sums.combine(std::plus<>());
///
/// A thread that is no worker has an element of its own, and that of a worker while it works in the worker's place (see
/// runtime::run). Workers of several runtimes have different elements. Elements do not move, lie on different cache
/// lines, and live until clear() or the destructor; a worker or thread that comes when another one has ended may find
/// the element of that one. local() takes no lock, except where it makes an element.
///
/// **Across waits.** A worker runs other tasks while a task waits, and the task may continue on another worker. So a
/// reference from local() is the caller's alone only until the caller calls something that may wait: a join, a loop, a
/// wait(), a lock of weft::mutex, and also task_group::run() or async(), which may start the child at once. After that,
/// the caller must ask local() again. A task that uses an older reference may do so at the same time as a task that got
/// the same element from local(), and it may find the element changed. weft::isolate() keeps a part of a task on its
/// worker.
///
/// combine(), iterations, size() and clear() must not run while another task or thread may call local().
template <class T>
class per_worker {
    struct element : impl::stored {
        template <class... Args>
        explicit element(Args&&... args) : value(std::forward<Args>(args)...) {}
        template <class Make>
        element(std::in_place_t, Make& make) : value(make()) {}
        alignas(T) alignas(impl::line_bytes) T value;
    };

    /// How an element is made.
    struct maker {
        virtual ~maker() = default;
        virtual std::unique_ptr<element> make() = 0;
    };
    template <class... Args>
    struct from_arguments final : maker {
        template <class... Given>
        explicit from_arguments(Given&&... given) : args(std::forward<Given>(given)...) {}
        std::unique_ptr<element> make() override {
            return std::apply([](const Args&... a) { return std::make_unique<element>(a...); }, args);
        }
        std::tuple<Args...> args;
    };
    template <class F>
    struct from_function final : maker {
        template <class Given>
        explicit from_function(Given&& f) : function(std::forward<Given>(f)) {}
        std::unique_ptr<element> make() override {
            return std::make_unique<element>(std::in_place, function);
        }
        F function;
    };

    template <bool Const>
    class cursor {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using reference = std::conditional_t<Const, const T&, T&>;
        using pointer = std::conditional_t<Const, const T*, T*>;

        cursor() noexcept = default;
        explicit cursor(impl::stored* at) noexcept : at_(at) {}
        explicit(false) cursor(const cursor<false>& other) noexcept
            requires Const
            : at_(other.at_) {}

        reference operator*() const noexcept { return static_cast<element*>(at_)->value; }
        pointer operator->() const noexcept { return std::addressof(**this); }
        cursor& operator++() noexcept {
            at_ = at_->next;
            return *this;
        }
        cursor operator++(int) noexcept {
            const cursor before = *this;
            ++*this;
            return before;
        }
        bool operator==(const cursor&) const noexcept = default;

    private:
        template <bool>
        friend class cursor;
        impl::stored* at_ = nullptr;
    };

    template <class First, class... Rest>
    static constexpr bool is_maker =
        sizeof...(Rest) == 0 && !std::convertible_to<First, T> && MakesElement<std::decay_t<First>, T>;

public:
    using value_type = T;                ///< of the elements
    using iterator = cursor<false>;      ///< a forward iterator
    using const_iterator = cursor<true>; ///< a forward iterator to const elements

    /// Every element is `T()`.
    per_worker()
        requires std::default_initializable<T>
        : made_by_(std::make_unique<from_arguments<>>()) {}
    /// Every element is a copy of what `make()` returns, which is called once for each element, by the worker that asks
    /// for it. Several workers may call it at the same time.
    template <class Make>
        requires is_maker<Make>
    explicit per_worker(Make&& make)
        : made_by_(std::make_unique<from_function<std::decay_t<Make>>>(std::forward<Make>(make))) {}
    /// Every element is made from copies of these arguments: one value, or what a constructor of T takes.
    template <class First, class... Rest>
        requires(!is_maker<First, Rest...> &&
                 std::constructible_from<T, const std::decay_t<First>&, const std::decay_t<Rest>&...>)
    explicit per_worker(First&& first, Rest&&... rest)
        : made_by_(std::make_unique<from_arguments<std::decay_t<First>, std::decay_t<Rest>...>>(
              std::forward<First>(first), std::forward<Rest>(rest)...)) {}

    /// @cond
    explicit per_worker(impl::any, impl::any = {}, impl::any = {}, impl::not_a::MakesElement = {})
        WEFT_REJECTED("MakesElement: a function that is called without arguments and returns a T, or "
                      "arguments of which "
                      "each element is made");
    /// @endcond

    per_worker(const per_worker&) = delete;
    per_worker& operator=(const per_worker&) = delete;
    ~per_worker() { clear(); }

    /// The element of the worker that runs the caller, or of the calling thread. Throws what the construction of an
    /// element throws; no element is added then.
    T& local() {
        if (impl::stored* const there = all_.find()) [[likely]]
            return static_cast<element*>(there)->value;
        return make_local();
    }
    /// The same; `exists` tells whether the element was there before.
    T& local(bool& exists) {
        impl::stored* const there = all_.find();
        exists = there != nullptr;
        return there ? static_cast<element*>(there)->value : make_local();
    }

    /// The number of elements that were made.
    std::size_t size() const noexcept { return all_.size(); }
    bool empty() const noexcept { return size() == 0; } ///< no element was made

    /// The elements that were made: those of threads that are no workers, in the order of their making, then those of
    /// workers by their ranks. So the order is the same in every run on a modelled machine with the same seed.
    iterator begin() noexcept { return iterator(all_.first()); }
    iterator end() noexcept { return iterator(); } ///< behind the last element
    const_iterator begin() const noexcept { return const_iterator(all_.first()); } ///< likewise
    const_iterator end() const noexcept { return const_iterator(); }               ///< likewise

    /// Returns op(...op(op(e0, e1), e2)..., en) for the elements in the order of iterations, which stay as they are. If
    /// there are none, returns a value that is made like an element.
    template <class Op>
        requires Combination<Op, T, const T&> && std::copy_constructible<T>
    T combine(Op&& op) const {
        auto at = begin();
        if (at == end()) return std::move(made_by_->make()->value);
        T all = *at;
        while (++at != end()) all = op(std::move(all), *at);
        return all;
    }
    /// Calls `f(element)` for each element, in the order of iterations.
    template <class F>
        requires TakesElement<F, T&>
    void combine_each(F&& f) {
        for (T& each : *this) f(each);
    }
    /// The same for const elements.
    template <class F>
        requires TakesElement<F, const T&>
    void combine_each(F&& f) const {
        for (const T& each : *this) f(each);
    }
    /// @cond
    impl::not_a::Combination combine(impl::any) const
        WEFT_REJECTED("Combination: op is called with two T, which can be copied, and returns a T");
    impl::not_a::TakesElement combine_each(impl::any) const
        WEFT_REJECTED("TakesElement: f is called with an element");
    /// @endcond

    /// Destroys all elements. The next call of local() makes a new one.
    void clear() noexcept {
        for (impl::stored* at = all_.release(); at != nullptr;) {
            const std::unique_ptr<element> gone(static_cast<element*>(at));
            at = gone->next;
        }
    }

private:
    /// The construction may wait, and end on another worker. That one may have an element already, then the new one is
    /// dropped.
    [[gnu::noinline, gnu::cold]] T& make_local() {
        std::unique_ptr<element> made = made_by_->make();
        impl::stored& own = all_.add(*made);
        if (&own == made.get()) static_cast<void>(made.release());
        return static_cast<element&>(own).value;
    }

    impl::storage all_;
    const std::unique_ptr<maker> made_by_;
};

} // namespace weft
