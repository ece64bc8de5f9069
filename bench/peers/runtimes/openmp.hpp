// OpenMP, for libgomp (built by GCC) and libomp (built by Clang). Tasks live in one parallel region, entered
// by run(); a loop opens a region of its own, as OpenMP programs do.
#pragma once

#include "results.hpp"

#include <omp.h>
// The parallel mode of libstdc++ is the library sort of OpenMP; it uses what C++20 calls deprecated.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <parallel/algorithm>
#pragma GCC diagnostic pop

#include <type_traits>

namespace peers {

class runtime {
public:
    struct strand {
        template <class F, class G>
        auto fork(F&& f, G&& g) const {
            return results_of(*this, f, g, [](auto&& first, auto&& second) {
#pragma omp task default(shared)
                first();
                second();
#pragma omp taskwait
            });
        }

        struct group {
            template <class F>
            void run(F&& f) {
                std::decay_t<F> child(f);
#pragma omp task firstprivate(child)
                child(strand{});
            }
            void wait() {
#pragma omp taskwait
            }
        };

        template <class I, class Body>
        void loop(I first, I last, Body&& body) const {
#pragma omp parallel for
            for (I i = first; i < last; ++i) body(i);
        }
        // The default would give each thread one half: the author of an uneven loop asks for another schedule.
        template <class I, class Body>
        void uneven_loop(I first, I last, Body&& body) const {
#pragma omp parallel for schedule(guided)
            for (I i = first; i < last; ++i) body(i);
        }

        template <class Iterator>
        void sort(Iterator first, Iterator last) const {
            __gnu_parallel::sort(first, last);
        }
    };

    explicit runtime(int workers) {
        omp_set_dynamic(0);
        omp_set_num_threads(workers);
    }

    template <class F>
    void run(F&& f) {
#pragma omp parallel
#pragma omp single
        f(strand{});
    }
    template <class F>
    void run_loops(F&& f) {
        f(strand{});
    }
};

} // namespace peers
