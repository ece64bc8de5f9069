#pragma once

#include <weft/runtime.hpp>
#include <weft/task_group.hpp>

#include "engine/support.hpp"
#include "engine/threads/thread_engine.hpp"

#include <atomic>
#include <string>

/// What the tests of preemption share.
namespace weft::test {

inline runtime_options preempting(const std::string& how, int workers = 2,
                                  const std::string& policy = "steal") {
    runtime_options o;
    o.preempt = how;
    o.workers = workers;
    o.policy = policy;
    o.seed = seed;
    o.pin = "off";
    return o;
}

inline engine::thread_engine& engine_of(runtime& rt) {
    return *rt.run([] { return static_cast<engine::thread_engine*>(&impl::hot_self()->engine); });
}
inline engine::preempter& preempter_of(runtime& rt) { return engine_of(rt).preemption; }

/// A barrier whose waiters do nothing but look: without preemption it lets no more tasks pass than there are workers.
class spin_barrier {
public:
    explicit spin_barrier(int count) : count_(count) {}
    void wait() {
        const int round = come_.fetch_add(1, std::memory_order_acq_rel) / count_ + 1;
        while (come_.load(std::memory_order_acquire) < round * count_) {}
    }

private:
    const int count_;
    std::atomic<int> come_{0};
};

/// `count` tasks of a group call `f(i)`.
template <class F>
void run_all(runtime& rt, int count, F f, const hints& h = {}) {
    rt.run([&] {
        task_group g;
        for (int i = 0; i < count; ++i) g.run([&f, i] { f(i); }, h);
        g.wait();
    });
}

/// Takes time, with no call.
inline void compute(int steps) {
    for (int i = 0; i < steps; ++i) asm volatile("" : : "r"(i) : "memory");
}

} // namespace weft::test
