// oneTBB: an arena of its own size, and no more threads than that.
#pragma once

#include "results.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <cstddef>

namespace peers {

class runtime {
public:
    struct strand {
        template <class F, class G>
        auto fork(F&& f, G&& g) const {
            return results_of(*this, f, g,
                              [](auto&& first, auto&& second) { tbb::parallel_invoke(first, second); });
        }

        class group {
        public:
            template <class F>
            void run(F&& f) {
                children_.run([f] { f(strand{}); });
            }
            void wait() { children_.wait(); }

        private:
            tbb::task_group children_;
        };

        template <class I, class Body>
        void loop(I first, I last, Body&& body) const {
            tbb::parallel_for(first, last, body);
        }
        template <class I, class Body>
        void uneven_loop(I first, I last, Body&& body) const {
            loop(first, last, body);
        }

        template <class Iterator>
        void sort(Iterator first, Iterator last) const {
            tbb::parallel_sort(first, last);
        }
    };

    explicit runtime(int workers)
        : limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers))
        , arena_(workers) {}

    template <class F>
    void run(F&& f) {
        arena_.execute([&] { f(strand{}); });
    }
    template <class F>
    void run_loops(F&& f) {
        run(f);
    }

private:
    tbb::global_control limit_;
    tbb::task_arena arena_;
};

} // namespace peers
