// Messages between the hooks of two workers: they arrive once, in order, also at sleepers, and in the model
// after the time that the way takes.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/support.hpp"
#include "engine/threads/thread_engine.hpp"
#include "machine/load.hpp"
#include "policy/parts/places.hpp"

namespace weft {
namespace {

/// What arrived, in order; by one worker.
struct arrivals {
    std::vector<int> kinds;
    std::vector<time_ns> at;
    std::atomic<int> count{0};
};

/// Every root sends `to_send` messages from the worker that starts it to the last worker, which answers none.
class sender final : public policy {
public:
    sender(arrivals& to, int to_send) : arrivals_(to), to_send_(to_send) {}

    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        return {.posts = true};
    }
    placement ready(worker_id w, task& t, ready_reason reason) override {
        const placement at = places_.put(w, t, reason);
        return {at.at, {0, 1}}; // worker 0 runs everything
    }
    decision next(worker_id w, bool last_look) override {
        return w == 0 ? places_.own(w, last_look) : decision{nullptr, w};
    }
    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::call; }
    void started(worker_id w, task&) override {
        for (int i = 0; i < to_send_; ++i) context_->post(w, context_->all().last - 1, i);
    }
    placement message(worker_id w, worker_id from, int kind, task* t) override {
        EXPECT_EQ(w, context_->all().last - 1);
        EXPECT_EQ(from, 0);
        EXPECT_EQ(t, nullptr);
        arrivals_.kinds.push_back(kind);
        arrivals_.at.push_back(context_->now());
        arrivals_.count.fetch_add(1, std::memory_order_release);
        return {};
    }

private:
    arrivals& arrivals_;
    const int to_send_;
    policy_context* context_ = nullptr;
    places places_;
};

machine two_far_cores() {
    return parse_toml("name = 'two'\n[[core_class]]\nname = 'core'\nfrequency_mhz = 1000\n"
                      "[regular]\npackages = 2\ncores_per_domain = 1\n"
                      "[steal]\nsame_domain_ns = 0\nother_package_ns = 2000\nother_package_gbps = 0.5\n"
                      "message_bytes = 100\n[charges]\nfork_ns = 0\nspawn_ns = 0\nstart_ns = 0\n"
                      "suspend_ns = 0\nwait_ns = 0\nlook_ns = 0\nlock_ns = 0\nwake_ns = 0\nwoken_ns = 0\n",
                      "two");
}

/// Half the way there and back, and the bytes over the link, which carries one after the other.
TEST(messages, take_their_time_in_the_model) {
    arrivals got;
    test::modelled m(std::make_unique<sender>(got, 3), two_far_cores());
    time_ns began = -1;
    m.run([&] {
        began = m.engine.now();
        cost(100'000); // beside it they are on their way
    });
    m.engine.wait_until_quiescent();
    ASSERT_EQ(got.kinds, (std::vector<int>{0, 1, 2}));
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(got.at[i], began + 1000 + 200 * static_cast<time_ns>(i + 1)) << i;
}

TEST(messages, wake_a_sleeping_worker_and_keep_their_order) {
    constexpr int messages = 1000;
    arrivals got;
    engine::thread_engine_options o;
    o.workers = 3;
    o.spin_time = std::chrono::nanoseconds(0);
    {
        engine::thread_engine e(std::make_unique<sender>(got, messages), machine(), o);
        for (int root = 1; root <= 3; ++root) {
            auto nothing = [] {};
            engine::run_root(e, {[](void* c) { (*static_cast<decltype(nothing)*>(c))(); }, &nothing});
            EXPECT_TRUE(
                test::await([&] { return got.count.load(std::memory_order_acquire) == root * messages; }));
        }
    }
    for (int i = 0; i < 3 * messages; ++i) ASSERT_EQ(got.kinds[static_cast<std::size_t>(i)], i % messages);
}

/// Under preemption their memory is not malloc's.
TEST(messages, that_were_not_read_are_given_back_at_the_end) {
    for (int life = 0; life < test::rounds(300); ++life) {
        arrivals got;
        engine::thread_engine_options o;
        o.workers = 3;
        o.spin_time = std::chrono::nanoseconds(0);
        o.preempt.type = preemption::klt;
        {
            engine::thread_engine e(std::make_unique<sender>(got, 1000), machine(), o);
            auto nothing = [] {};
            engine::run_root(e, {[](void* c) { (*static_cast<decltype(nothing)*>(c))(); }, &nothing});
        }
        std::vector<std::unique_ptr<std::array<char, 48>>> blocks; // as large as messages
        for (int i = 0; i < 1000; ++i) blocks.push_back(std::make_unique<std::array<char, 48>>());
    }
}

} // namespace
} // namespace weft
