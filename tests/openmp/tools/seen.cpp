/// Constructs that a tool sees, in known numbers; tests/openmp/check_tools.py counts its events. 3 threads in each outer region.
#include <omp.h>

#include <cstdio>
#include <thread>

namespace {

long sum = 0;

int fib(int n) {
    if (n < 2) return n;
    int a = 0, b = 0;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

} // namespace

int main() {
    omp_set_max_active_levels(3);
    omp_set_dynamic(0);
    int result = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp single
        result = fib(8); // 66 tasks, 33 taskwaits
#pragma omp barrier
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < 20; ++i) {
#pragma omp critical
            sum += i;
        }
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp atomic
                sum += 1;
            }
#pragma omp section
            {
#pragma omp atomic
                sum += 2;
            }
        }
#pragma omp parallel num_threads(2)
        {
#pragma omp task
            {
#pragma omp atomic
                sum += 4;
            }
        }
    }
    int x = 0;
#pragma omp parallel num_threads(3)
#pragma omp master
    {
#pragma omp taskgroup
        for (int i = 0; i < 5; ++i) {
#pragma omp task depend(inout : x) shared(x)
            ++x;
        }
        omp_event_handle_t event;
#pragma omp task detach(event)
        omp_fulfill_event(event);
#pragma omp task if (0)
        sum += 100;
    }
#pragma omp parallel for num_threads(3) schedule(guided)
    for (int i = 0; i < 7; ++i) {
#pragma omp atomic
        sum += 1;
    }
    // A thread of the program's own.
    std::thread([] {
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            sum += 10;
        }
    }).join();
    std::printf("%d %ld %d\n", result, sum, x);
    return 0;
}
