// weft::pipeline.
#include "../common/runtimes.hpp"
#include "program.hpp"

#include <utility>

namespace {

using namespace bench::pipeline;

class runtime {
public:
    explicit runtime(int workers) : rt_(bench::with_workers(workers)) {}

    template <char... Kind>
    void run_stages(kinds<Kind...> all, std::size_t tokens, work& w) {
        [&]<std::size_t... K>(std::index_sequence<K...>) {
            weft::pipeline p(stage<all.at(K), K, sizeof...(Kind)>(w)...);
            rt_.run([&] { p.run(tokens); });
        }(std::make_index_sequence<sizeof...(Kind)>());
    }
    void run_dedup(examples::deduplicator& d, std::size_t tokens) {
        rt_.run([&] { d.run(tokens); });
    }

private:
    template <char Kind, std::size_t K, std::size_t Count>
    static auto stage(work& w) {
        const auto of_kind = [](auto f) {
            if constexpr (Kind == 's')
                return weft::stage::serial_in_order(f);
            else
                return weft::stage::parallel(f);
        };
        if constexpr (K == 0)
            return of_kind([&w] { return w.first(); });
        else if constexpr (K + 1 == Count)
            return of_kind([&w](const item& i) { w.last(i); });
        else
            return of_kind([&w](item& i) { w.stage(i); });
    }

    weft::runtime rt_;
};

} // namespace

int main(int argc, char** argv) { return bench::pipeline::program<runtime>(argc, argv); }
