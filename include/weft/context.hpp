#pragma once

#include <weft/error.hpp>
#include <weft/impl/hot.hpp>

#include <utility>

namespace weft {

/// The position of a function in the nesting of joins. A context that is passed down as an argument saves a
/// join two accesses to thread-local memory: `weft::join(ctx, f, g)` calls f and g with contexts of their
/// own. A function that gets a context passes that one to join. Code that takes no context is called by a
/// closure without a parameter, or through enter(). A context is valid in the function that got it.
class context {
public:
    /// For the library itself.
    explicit context(impl::frame* at) noexcept : at_(at) {}

    /// The context of code that got none: that of the innermost join of the plain form. Throws weft::error in
    /// a thread that is no worker.
    static context current() {
        impl::frame* at = impl::hot_head();
        if (!at) [[unlikely]]
            throw error(
                "there is no context outside of a runtime", "a thread that is no worker",
                "code that a runtime runs (weft::runtime::run), or the forms of join without a context");
        return context(at);
    }

    /// Calls `f()` and returns its result. Joins of the plain form, groups and loops inside `f` are linked
    /// below this context.
    template <class F>
    decltype(auto) enter(F&& f) const {
        struct restore {
            impl::frame* before = impl::hot_head();
            ~restore() { impl::set_hot_head(before); }
        } const restored;
        impl::set_hot_head(at_);
        return std::forward<F>(f)();
    }

    /// For the library itself.
    impl::frame* at() const noexcept { return at_; }

private:
    impl::frame* at_;
};

} // namespace weft
