// Real threads on every structure: each element comes out exactly once, with what was written to it before.
//
// WEFT_TEST_SEED chooses the seed; a failure names the one it had.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "queue/chase_lev_deque.hpp"
#include "queue/injector.hpp"
#include "queue/locked_list.hpp"
#include "queue/mailbox.hpp"
#include "queue/spin_lock.hpp"
#include "queue/the_deque.hpp"
#include "queue/worker_set.hpp"

namespace weft::queue {
namespace {

constexpr int k_threads = 4;
constexpr std::chrono::milliseconds k_longest{1500};

std::uint32_t chosen_seed() {
    if (const char* const given = std::getenv("WEFT_TEST_SEED")) {
        return static_cast<std::uint32_t>(std::stoul(given));
    }
    return std::random_device{}();
}

class queue_stress : public testing::Test {
protected:
    const std::uint32_t seed_ = chosen_seed();
    const testing::ScopedTrace trace_{__FILE__, __LINE__, "WEFT_TEST_SEED=" + std::to_string(seed_)};

    // Numbers of one thread: random(n) is below n.
    auto random(int thread) const {
        return [engine = std::mt19937(seed_ + static_cast<std::uint32_t>(thread))](
                   std::uint32_t below) mutable { return static_cast<std::uint32_t>(engine() % below); };
    }
};

struct item {
    list_hook queue_link;
    int payload = 0; // written by the pusher, read by the taker, never atomic
    int producer = 0;
    int taken = 0;
};

// What each thread takes is kept apart and compared at the end.
void expect_each_once(std::vector<item>& items, std::size_t pushed,
                      const std::vector<std::vector<item*>>& takings) {
    for (const auto& mine : takings) {
        for (item* const each : mine) ++each->taken;
    }
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < items.size(); ++at) wrong += items[at].taken != (at < pushed ? 1 : 0);
    EXPECT_EQ(wrong, 0u) << "of " << pushed << " items";
}

template <class Body>
void on_all_threads(Body&& body) {
    std::vector<std::thread> threads;
    std::atomic<int> ready = 0;
    for (int me = 0; me < k_threads; ++me) {
        threads.emplace_back([&, me] {
            ready.fetch_add(1);
            while (ready.load() != k_threads) std::this_thread::yield();
            body(me);
        });
    }
    for (std::thread& each : threads) each.join();
}

bool overdue(std::chrono::steady_clock::time_point since) {
    return std::chrono::steady_clock::now() - since > k_longest;
}

TEST_F(queue_stress, deque_owner_and_three_thieves) {
    constexpr std::size_t k_items = 500000;
    std::vector<item> items(k_items);
    std::vector<std::vector<item*>> takings(k_threads);
    chase_lev_deque<item*> tasks(2);
    std::atomic<bool> done = false;
    std::size_t pushed = 0;
    on_all_threads([&](int me) {
        auto random = this->random(me);
        auto& mine = takings[static_cast<std::size_t>(me)];
        int wrong = 0;
        const auto take = [&](item* got) {
            wrong += got->payload != static_cast<int>(got - items.data()) + 1;
            mine.push_back(got);
        };
        if (me == 0) {
            const auto started = std::chrono::steady_clock::now();
            while (pushed < k_items && !overdue(started)) {
                // Bursts up and down, often down to the last one, sometimes from the top.
                for (auto burst = random(64); burst != 0 && pushed < k_items; --burst) {
                    items[pushed].payload = static_cast<int>(pushed) + 1;
                    tasks.push(&items[pushed++]);
                }
                const bool top = random(4) == 0;
                for (auto burst = random(80); burst != 0; --burst) {
                    item* const got = top ? tasks.pop_top() : tasks.pop();
                    if (got == nullptr) break;
                    take(got);
                }
            }
            while (item* const got = tasks.pop()) take(got);
            done.store(true);
        } else {
            for (;;) {
                const bool last = done.load();
                item* got = nullptr;
                const steal_result result = tasks.steal(got);
                if (result == steal_result::ok) take(got);
                if (result == steal_result::empty && last) break;
                if (result == steal_result::empty) std::this_thread::yield();
            }
        }
        EXPECT_EQ(wrong, 0) << "payloads seen by thread " << me;
    });
    EXPECT_TRUE(tasks.empty());
    expect_each_once(items, pushed, takings);
}

// One to three elements at a time, over and over: the owner and the thieves meet at the last one.
TEST_F(queue_stress, deque_last_elements) {
    constexpr std::size_t k_items = 100000;
    constexpr std::chrono::milliseconds k_enough{400};
    std::size_t stolen = 0;
    const auto begun = std::chrono::steady_clock::now();
    while (!HasFailure() && std::chrono::steady_clock::now() - begun < k_enough) {
        std::vector<item> items(k_items);
        std::vector<std::vector<item*>> takings(k_threads);
        for (auto& each : takings) each.reserve(k_items);
        chase_lev_deque<item*> tasks(4);
        std::atomic<bool> done = false;
        std::size_t pushed = 0;
        on_all_threads([&](int me) {
            auto random = this->random(me);
            auto& mine = takings[static_cast<std::size_t>(me)];
            if (me == 0) {
                const auto started = std::chrono::steady_clock::now();
                while (pushed < k_items && !overdue(started)) {
                    const std::uint32_t burst = 1 + random(3);
                    for (std::uint32_t at = 0; at < burst && pushed < k_items; ++at)
                        tasks.push(&items[pushed++]);
                    for (std::uint32_t at = 0; at < burst; ++at) {
                        if (item* const got = tasks.pop()) mine.push_back(got);
                    }
                }
                done.store(true);
            } else {
                while (!done.load()) {
                    item* got = nullptr;
                    if (tasks.steal(got) == steal_result::ok) mine.push_back(got);
                }
            }
        });
        EXPECT_TRUE(tasks.empty());
        EXPECT_EQ(tasks.capacity(), 4u);
        expect_each_once(items, pushed, takings);
        for (int thief = 1; thief < k_threads; ++thief)
            stolen += takings[static_cast<std::size_t>(thief)].size();
    }
    RecordProperty("stolen", static_cast<int>(stolen));
}

// The owner pushes and pops near; of the others two steal, one of which also pushes far, and one only does
// that.
TEST_F(queue_stress, the_deque_owner_thieves_and_far_pushers) {
    constexpr std::size_t k_each = 150000; // of the owner, and of each of the two
    std::vector<item> items(3 * k_each);
    std::vector<std::vector<item*>> takings(k_threads);
    the_deque<item*> tasks(2);
    std::atomic<int> pushing = 3;
    std::atomic<std::size_t> pushed = 0;
    on_all_threads([&](int me) {
        auto random = this->random(me);
        auto& mine = takings[static_cast<std::size_t>(me)];
        int wrong = 0;
        const auto take = [&](item* got) {
            if (got == nullptr) return false;
            wrong += got->payload != static_cast<int>(got - items.data()) + 1;
            mine.push_back(got);
            return true;
        };
        const auto make = [&] {
            item* const made = &items[pushed.fetch_add(1)];
            made->payload = static_cast<int>(made - items.data()) + 1;
            return made;
        };
        const auto started = std::chrono::steady_clock::now();
        std::size_t left = me < 3 ? k_each : 0;
        while (left != 0 && !overdue(started)) {
            // Bursts up and down, often down to the last one.
            for (auto burst = random(me == 0 ? 64 : 8); burst != 0 && left != 0; --burst, --left) {
                if (me == 0) {
                    tasks.push(make());
                } else {
                    tasks.push_far(make());
                }
            }
            if (me == 1) continue;
            for (auto burst = random(me == 0 ? 80 : 8); burst != 0; --burst)
                if (!take(me == 0 ? tasks.pop() : tasks.steal())) break;
        }
        if (me < 3) pushing.fetch_sub(1);
        for (;;) {
            const bool last = pushing.load() == 0;
            if (take(me == 0 ? tasks.pop() : tasks.steal())) continue;
            if (last) break;
            std::this_thread::yield();
        }
        EXPECT_EQ(wrong, 0) << "payloads seen by thread " << me;
    });
    EXPECT_TRUE(tasks.empty());
    expect_each_once(items, pushed.load(), takings);
}

// One to three elements at a time, over and over: the owner and the thieves meet at the last one.
TEST_F(queue_stress, the_deque_last_elements) {
    constexpr std::size_t k_items = 200000;
    std::vector<item> items(k_items);
    std::vector<std::vector<item*>> takings(k_threads);
    the_deque<item*> tasks(4);
    std::atomic<bool> done = false;
    std::size_t pushed = 0;
    on_all_threads([&](int me) {
        auto random = this->random(me);
        auto& mine = takings[static_cast<std::size_t>(me)];
        if (me == 0) {
            const auto started = std::chrono::steady_clock::now();
            while (pushed < k_items && !overdue(started)) {
                const std::uint32_t burst = 1 + random(3);
                for (std::uint32_t at = 0; at < burst && pushed < k_items; ++at) tasks.push(&items[pushed++]);
                for (std::uint32_t at = 0; at < burst; ++at)
                    if (item* const got = tasks.pop()) mine.push_back(got);
            }
            done.store(true);
        } else {
            while (!done.load())
                if (item* const got = tasks.steal()) mine.push_back(got);
        }
    });
    EXPECT_TRUE(tasks.empty());
    EXPECT_EQ(tasks.capacity(), 4u);
    expect_each_once(items, pushed, takings);
}

TEST_F(queue_stress, mailbox_three_senders) {
    constexpr int k_each = 50000;
    std::vector<item> items(3 * k_each);
    std::vector<std::vector<item*>> takings(1);
    mailbox<item> box;
    std::atomic<int> sending = 3;
    on_all_threads([&](int me) {
        if (me < 3) {
            auto random = this->random(me);
            for (int at = 0; at < k_each; ++at) {
                item& each = items[static_cast<std::size_t>(me * k_each + at)];
                each.producer = me;
                each.payload = at + 1;
                box.put(&each);
                if (random(4) == 0) std::this_thread::yield();
            }
            sending.fetch_sub(1);
            return;
        }
        int wrong = 0;
        int seen[3] = {};
        for (;;) {
            const bool last = sending.load() == 0;
            item* const each = box.take();
            if (each == nullptr && last) break;
            if (each == nullptr) {
                std::this_thread::yield();
                continue;
            }
            wrong += each->payload != ++seen[each->producer];
            takings[0].push_back(each);
        }
        EXPECT_EQ(wrong, 0) << "out of their sender's order";
    });
    EXPECT_TRUE(box.empty());
    expect_each_once(items, items.size(), takings);
}

TEST_F(queue_stress, injector_two_producers_two_consumers) {
    constexpr int k_each = 50000;
    std::vector<item> items(2 * k_each);
    std::vector<std::vector<item*>> takings(k_threads);
    injector<item> inbox;
    std::atomic<int> producing = 2;
    on_all_threads([&](int me) {
        auto& mine = takings[static_cast<std::size_t>(me)];
        if (me < 2) {
            for (int at = 0; at < k_each; ++at) {
                item& each = items[static_cast<std::size_t>(me * k_each + at)];
                each.producer = me;
                each.payload = at + 1;
                inbox.push(&each);
            }
            producing.fetch_sub(1);
        } else {
            int wrong = 0;
            for (;;) {
                const bool last = producing.load() == 0;
                auto taken = inbox.take_all();
                if (taken.empty() && last) break;
                if (taken.empty()) std::this_thread::yield();
                int seen[2] = {};
                while (item* const each = taken.pop_front()) {
                    wrong += each->payload <= seen[each->producer];
                    seen[each->producer] = each->payload;
                    mine.push_back(each);
                }
            }
            EXPECT_EQ(wrong, 0) << "out of their producer's order, thread " << me;
        }
    });
    expect_each_once(items, items.size(), takings);
}

// I2 of locked_list.hpp.
TEST_F(queue_stress, locked_list_everybody_does_everything) {
    constexpr std::size_t k_each = 20000;
    std::vector<item> items(k_threads * k_each);
    std::vector<std::vector<item*>> takings(k_threads);
    locked_list<item> list;
    on_all_threads([&](int me) {
        auto random = this->random(me);
        auto& mine = takings[static_cast<std::size_t>(me)];
        int wrong = 0;
        for (std::size_t at = 0; at < k_each; ++at) {
            item& each = items[static_cast<std::size_t>(me) * k_each + at];
            each.payload = static_cast<int>(&each - items.data()) + 1;
            if (random(2) == 0) {
                list.push_back(&each);
            } else {
                list.push_front(&each);
            }
            item* const got = random(2) == 0 ? list.try_pop_front() : list.pop_back();
            if (got == nullptr) continue;
            wrong += got->payload != static_cast<int>(got - items.data()) + 1;
            mine.push_back(got);
        }
        EXPECT_EQ(wrong, 0) << "payloads seen by thread " << me;
    });
    while (item* const left = list.pop_front()) takings[0].push_back(left);
    EXPECT_EQ(list.size(), 0u);
    expect_each_once(items, items.size(), takings);
}

TEST_F(queue_stress, spin_lock_excludes) {
    constexpr int k_rounds = 50000;
    spin_lock<> lock;
    long count = 0;
    on_all_threads([&](int me) {
        for (int round = 0; round < k_rounds; ++round) {
            if (me == 0) {
                while (!lock.try_lock()) std::this_thread::yield();
                ++count;
                lock.unlock();
            } else {
                const std::lock_guard held(lock);
                ++count;
            }
        }
    });
    EXPECT_EQ(count, long{k_threads} * k_rounds);
}

// Three workers sleep in the set and a fourth thread wakes them; a lost wake-up would leave a job undone.
TEST_F(queue_stress, worker_set_loses_no_wake_up) {
    constexpr std::uint32_t k_jobs = 30000;
    constexpr std::uint32_t k_workers = k_threads - 1;
    worker_set<> sleepers(k_workers);
    std::atomic<std::uint32_t> jobs = 0;
    std::atomic<std::uint32_t> finished = 0;
    std::atomic<bool> woken[k_workers] = {};
    std::atomic<bool> stop = false;
    std::atomic<bool> stuck = false;
    const auto wake_one = [&](std::uint32_t start) {
        std_sync::fence(std::memory_order::seq_cst);
        if (const auto id = sleepers.take_one_in(0, k_workers, start)) woken[*id].store(true);
    };
    on_all_threads([&](int thread) {
        auto random = this->random(thread);
        const auto me = static_cast<std::uint32_t>(thread);
        if (me == k_workers) {
            for (std::uint32_t job = 0; job < k_jobs && !stuck.load(); ++job) {
                jobs.fetch_add(1, std::memory_order::release);
                wake_one(random(k_workers));
                // Mostly one job at a time, so that no other wake-up can make up for a lost one.
                const auto given = std::chrono::steady_clock::now();
                while (random(8) != 0 && finished.load() != job + 1) {
                    std::this_thread::yield();
                    if (std::chrono::steady_clock::now() - given > std::chrono::seconds(2)) {
                        stuck.store(true);
                        break;
                    }
                }
            }
            const auto given = std::chrono::steady_clock::now();
            while (finished.load() != jobs.load() && !stuck.load()) {
                std::this_thread::yield();
                if (std::chrono::steady_clock::now() - given > std::chrono::seconds(2)) stuck.store(true);
            }
            stop.store(true);
            for (std::atomic<bool>& each : woken) each.store(true);
            return;
        }
        const auto take_job = [&] {
            std::uint32_t seen = jobs.load();
            while (seen != finished.load()) {
                std::uint32_t done = finished.load();
                if (seen - done == 0 || seen - done > k_jobs) return false;
                if (finished.compare_exchange_strong(done, done + 1)) return true;
            }
            return false;
        };
        while (!stop.load()) {
            if (take_job()) continue;
            sleepers.insert(me);
            std_sync::fence(std::memory_order::seq_cst);
            if (jobs.load() != finished.load() && sleepers.erase(me)) continue;
            while (!woken[me].exchange(false) && !stop.load()) std::this_thread::yield();
        }
    });
    EXPECT_FALSE(stuck.load()) << "a job was given and no thread woke up";
    EXPECT_EQ(finished.load(), jobs.load());
}

} // namespace
} // namespace weft::queue
