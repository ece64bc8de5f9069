// Weft, the plain forms.
#pragma once

#include <weft/weft.hpp>

#include <type_traits>
#include <utility>

#if __has_include(<weft/sort.hpp>)
#    include <weft/sort.hpp>
#    define WEFT_PEERS_SORT
#endif

namespace peers {

class runtime {
public:
    struct strand {
        // The closures go by value into the frame, as one would write them.
        template <class F, class G>
        auto fork(F&& f, G&& g) const {
            return weft::join([f] { return f(strand{}); }, [g] { return g(strand{}); });
        }

        class group {
        public:
            template <class F>
            void run(F&& f) {
                children_.run([f] { f(strand{}); });
            }
            void wait() { children_.wait(); }

        private:
            weft::task_group children_;
        };

        template <class I, class Body>
        void loop(I first, I last, Body&& body) const {
            weft::parallel_for(first, last, body);
        }
        template <class I, class Body>
        void uneven_loop(I first, I last, Body&& body) const {
            loop(first, last, body);
        }

#ifdef WEFT_PEERS_SORT
        template <class Iterator>
        void sort(Iterator first, Iterator last) const {
            weft::parallel_sort(first, last);
        }
#endif
    };

    explicit runtime(int workers) : workers_(options(workers)) {}

    template <class F>
    void run(F&& f) {
        workers_.run([&] { f(strand{}); });
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
