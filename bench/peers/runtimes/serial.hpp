// The plain program: one after the other. Every other runtime is compared with it.
//
// A runtime is what is here: run() and run_loops() enter it and give a strand; the strand forks, opens
// groups, loops and sorts. Where a runtime has no such thing, its strand has none, and the program says so.
#pragma once

#include "results.hpp"

#include <algorithm>

namespace peers {

class runtime {
public:
    struct strand {
        template <class F, class G>
        auto fork(F&& f, G&& g) const {
            return results_of(*this, f, g, [](auto&& first, auto&& second) {
                first();
                second();
            });
        }

        struct group {
            template <class F>
            void run(F&& f) {
                f(strand{});
            }
            void wait() {}
        };

        template <class I, class Body>
        void loop(I first, I last, Body&& body) const {
            for (I i = first; i != last; ++i) body(i);
        }
        template <class I, class Body>
        void uneven_loop(I first, I last, Body&& body) const {
            loop(first, last, body);
        }

        template <class Iterator>
        void sort(Iterator first, Iterator last) const {
            std::sort(first, last);
        }
    };

    explicit runtime(int) {}

    template <class F>
    void run(F&& f) {
        f(strand{});
    }
    template <class F>
    void run_loops(F&& f) {
        f(strand{});
    }
};

} // namespace peers
