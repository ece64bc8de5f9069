// oneTBB's parallel_pipeline, in an arena of its own size. Items are passed by value, as its users do: what is larger than a
// pointer it allocates for each stage.
#include "program.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <utility>

namespace {

using namespace bench::pipeline;

class runtime {
public:
    explicit runtime(int workers)
        : limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers))
        , arena_(workers) {}

    template <char... Kind>
    void run_stages(kinds<Kind...> all, std::size_t tokens, work& w) {
        // Pointers into a ring of as many items as there are tokens: no stage allocates.
        std::vector<item> ring(tokens);
        const auto first =
            tbb::make_filter<void, item*>(mode<all.at(0)>(), [&](tbb::flow_control& flow) -> item* {
                const auto i = w.first();
                if (!i) {
                    flow.stop();
                    return nullptr;
                }
                return &(ring[i->number % tokens] = *i);
            });
        const auto last =
            tbb::make_filter<item*, void>(mode<all.at(sizeof...(Kind) - 1)>(), [&](item* i) { w.last(*i); });
        const auto middle = [&]<std::size_t... K>(std::index_sequence<K...>) {
            return (... & tbb::make_filter<item*, item*>(mode<all.at(K + 1)>(), [&w](item* i) {
                        w.stage(*i);
                        return i;
                    }));
        }(std::make_index_sequence<sizeof...(Kind) - 2>());
        arena_.execute([&] { tbb::parallel_pipeline(tokens, first & middle & last); });
    }
    void run_dedup(examples::deduplicator& d, std::size_t tokens) {
        using piece = examples::deduplicator::piece;
        const auto in_place = [](tbb::filter_mode how, auto f) {
            return tbb::make_filter<piece, piece>(how, [f](piece p) {
                f(p);
                return p;
            });
        };
        const auto all =
            tbb::make_filter<void, piece>(tbb::filter_mode::serial_in_order,
                                          [&](tbb::flow_control& flow) {
                                              auto p = d.next_piece();
                                              if (!p) flow.stop();
                                              return p ? std::move(*p) : piece{};
                                          }) &
            in_place(tbb::filter_mode::parallel, [](piece& p) { examples::deduplicator::refine(p); }) &
            in_place(tbb::filter_mode::parallel,
                     [](piece& p) { examples::deduplicator::fingerprint_chunks(p); }) &
            in_place(tbb::filter_mode::serial_in_order, [&](piece& p) { d.look_up(p); }) &
            in_place(tbb::filter_mode::parallel, [](piece& p) { examples::deduplicator::compress_new(p); }) &
            tbb::make_filter<piece, void>(tbb::filter_mode::serial_in_order,
                                          [&](const piece& p) { d.write(p); });
        arena_.execute([&] { tbb::parallel_pipeline(tokens, all); });
    }

private:
    template <char Kind>
    static constexpr tbb::filter_mode mode() {
        return Kind == 's' ? tbb::filter_mode::serial_in_order : tbb::filter_mode::parallel;
    }

    tbb::global_control limit_;
    tbb::task_arena arena_;
};

} // namespace

int main(int argc, char** argv) { return bench::pipeline::program<runtime>(argc, argv); }
