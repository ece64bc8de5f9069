#pragma once

#include <weft/hints.hpp>
#include <weft/impl/announce.hpp>
#include <weft/impl/pipeline.hpp>
#include <weft/impl/pipeline_items.hpp>

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

/// The kinds of stages of a weft::pipeline. `f` is moved (or copied) into the pipeline. `h` are the hints of each task
/// of the stage: their name is the stage's name in traces, and its class for policies.
namespace weft::stage {

/// Several items may be in the stage at the same time.
template <class F>
impl::stage_of<impl::stage_kind::parallel, std::decay_t<F>> parallel(F&& f, const hints& h = {}) {
    return {std::forward<F>(f), h};
}
/// One item at a time, in any order: in the order of arrival, as far as two arrivals have one.
template <class F>
impl::stage_of<impl::stage_kind::serial, std::decay_t<F>> serial(F&& f, const hints& h = {}) {
    return {std::forward<F>(f), h};
}
/// One item at a time, in the order in which the first stage has made them. An item that comes early waits, and its
/// worker does something else meanwhile.
template <class F>
impl::stage_of<impl::stage_kind::serial_in_order, std::decay_t<F>> serial_in_order(F&& f,
                                                                                   const hints& h = {}) {
    return {std::forward<F>(f), h};
}

} // namespace weft::stage

namespace weft {

/// Stages through which items pass one after another, different items at the same time.
///
///     weft::pipeline p(weft::stage::serial_in_order([&]() -> std::optional<block> { return read(file); }),
///                      weft::stage::parallel([](block b) { return compress(b); }, {.name = "compress"}),
///                      weft::stage::serial_in_order([&](archive a) { write(a); }));
///     p.run(16);
///
/// - The first stage is called without arguments and returns `std::optional<T>`; `std::nullopt` ends the input. A serial
///   first stage is not called again in that run; of a parallel one, calls that are under way may still return items.
/// - Each further stage is called with what the stage before has returned, as an rvalue; with an lvalue, if it takes only
///   that. The result is constructed where the next stage finds it, so items need be neither copyable nor movable.
///   A result that is an lvalue reference is passed on as the reference.
/// - A stage in the middle that returns void is called with an lvalue, and the item itself goes on to the next stage.
/// - The last stage returns void.
///
/// A worker carries its item down the stages, until the item has to wait for a serial stage. What waits is taken on by
/// the worker that leaves the stage. No worker waits for an item, and an item needs no memory beyond its token's.
template <class... Stages>
class pipeline {
    using chain = impl::stage_chain<Stages...>;

public:
    /// Takes the stages, which the functions of weft::stage make.
    explicit pipeline(Stages... stages)
        : stages_(std::move(stages)...)
        , core_(this, bodies_of(std::index_sequence_for<Stages...>()), chain::bytes, chain::align) {}
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    /// Runs until the input has ended and its items have passed all stages, with at most `tokens` items in the pipeline
    /// at a time; that many times twice the largest item is the memory of a run, which the pipeline keeps for the next
    /// one. If a stage throws, the items that are in the pipeline are dropped, calls of stages that are under way run to
    /// their ends, and the first exception is rethrown. In a thread that is no worker, the pipeline runs in the default
    /// runtime. If a group around it is cancelled, it is cancelled, too.
    ///
    /// Throws weft::error if `tokens` is 0 or above 2^24, if the pipeline is running already, or if no stack is
    /// available; std::bad_alloc if there is no memory for the tokens.
    void run(std::size_t tokens) {
        const impl::announced_wait edges(this);
        impl::happens_before(&core_);
        core_.run(tokens);
    }

    /// Drops the items of the present run, whose run() then returns. Calls of stages that are under way run to their
    /// ends; they may ask this_task::is_cancelled(). From any thread, or from inside a stage; without effect if the
    /// pipeline is not running.
    void cancel() noexcept { core_.cancel(); }

private:
    /// Traces tell stages apart by this function, so it has the type of the program's function.
    template <std::size_t K, class F>
    static bool run_stage(void* self, void* items) {
        auto& of = *static_cast<pipeline*>(self);
        auto& s = std::get<K>(of.stages_);
        // What the item's stage before has done, what a serial stage has done for the item before, and what came before
        // run(), precede the call.
        struct edges {
            const void *items, *stage, *run;
            edges(const void* i, const void* s, const void* core, const void* r) noexcept
                : items(i)
                , stage(s)
                , run(r) {
                impl::happens_after(core);
                impl::happens_after(items);
                if (s) impl::happens_after(s);
            }
            ~edges() {
                if (stage) impl::happens_before(stage);
                impl::happens_before(items);
                impl::happens_before(run);
            }
        } const announced(items, s.kind == impl::stage_kind::parallel ? nullptr : &s, &of.core_, self);
        return chain::template run<K>(s.f, items);
    }

    template <std::size_t... K>
    std::array<impl::stage_body, sizeof...(Stages)> bodies_of(std::index_sequence<K...>) {
        return {impl::stage_body{std::get<K>(stages_).kind, std::get<K>(stages_).hint,
                                 &run_stage<K, decltype(std::get<K>(stages_).f)>,
                                 chain::template drop_before<K>()}...};
    }

    std::tuple<Stages...> stages_;
    impl::pipeline_core core_;
};

} // namespace weft
