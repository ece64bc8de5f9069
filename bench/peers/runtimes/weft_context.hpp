// Weft, the form of join whose context is passed down; groups, loops and sorts have no such form.
#pragma once

#include <weft/weft.hpp>

#include <utility>

namespace peers {

class runtime {
public:
    struct strand {
        weft::context here;

        template <class F, class G>
        auto fork(F&& f, G&& g) const {
            return weft::join(
                here, [f](weft::context child) { return f(strand{child}); },
                [g](weft::context child) { return g(strand{child}); });
        }
    };

    explicit runtime(int workers) : workers_(options(workers)) {}

    template <class F>
    void run(F&& f) {
        workers_.run([&](weft::context here) { f(strand{here}); });
    }
    template <class F>
    void run_loops(F&& f) {
        run(f);
    }

private:
    static weft::runtime_options options(int workers) {
        weft::runtime_options o;
        o.workers = workers;
        return o;
    }
    weft::runtime workers_;
};

} // namespace peers
