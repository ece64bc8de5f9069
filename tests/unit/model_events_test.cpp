// The queue of what is going to happen, against a plain list.
#include "engine/model/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace weft::engine {
namespace {

// As one would write it first: events in the order in which they were pushed, and each search looks at all.
class plain_queue {
public:
    void push(time_ns at, event_queue::number n) { events_.emplace_back(at, n); }
    void cancel(event_queue::number n) {
        std::erase_if(events_, [n](const auto& e) { return e.second == n; });
    }
    bool empty() const { return events_.empty(); }
    time_ns next_time() const { return first()->first; }
    std::pair<time_ns, event_queue::number> pop() {
        const auto at = first();
        const auto e = *at;
        events_.erase(at);
        return e;
    }
    event_queue::number any(std::size_t drawn) const { return events_[drawn % events_.size()].second; }

private:
    using list = std::vector<std::pair<time_ns, event_queue::number>>;
    list::const_iterator first() const { return std::min_element(events_.begin(), events_.end()); }
    list events_;
};

TEST(event_queue, does_what_a_plain_list_does) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        std::mt19937 random(seed);
        event_queue queue;
        plain_queue plain;
        time_ns now = 0;
        // Few times, so that many events are at the same one. Every fourth queue is without cancelled events, and
        // some are short.
        const unsigned long longest = seed % 3 ? 40 : 3, times = 1 + random() % 20;
        for (int i = 0; i < 4000; ++i) {
            switch (random() % 8) {
            case 0:
            case 1:
            case 2: {
                const time_ns at = now + static_cast<time_ns>(random() % times);
                plain.push(at, queue.push(at, nullptr, nullptr));
                break;
            }
            case 3:
                if (seed % 4 != 0 && !plain.empty()) {
                    const auto n = plain.any(random());
                    plain.cancel(n);
                    queue.cancel(n);
                }
                break;
            case 4: ASSERT_EQ(queue.empty(), plain.empty()) << "seed " << seed; break;
            case 5:
                if (!plain.empty()) { ASSERT_EQ(queue.next_time(), plain.next_time()) << "seed " << seed; }
                break;
            default:
                for (bool once = true; !plain.empty() && (once || random() % longest == 0); once = false) {
                    const auto [at, n] = plain.pop();
                    const event_queue::event e = queue.pop();
                    ASSERT_EQ(e.at, at) << "seed " << seed;
                    ASSERT_EQ(e.in_order, n) << "seed " << seed;
                    now = at;
                }
            }
        }
        while (!plain.empty()) {
            const auto expected = plain.pop();
            const event_queue::event e = queue.pop();
            ASSERT_EQ(std::pair(e.at, e.in_order), expected) << "seed " << seed;
        }
        EXPECT_TRUE(queue.empty());
    }
}

TEST(event_queue, what_is_cancelled_at_the_front_after_a_look_does_not_happen) {
    event_queue queue;
    const auto first = queue.push(1, nullptr, nullptr);
    const auto second = queue.push(2, nullptr, nullptr);
    EXPECT_EQ(queue.next_time(), 1);
    queue.cancel(first);
    EXPECT_EQ(queue.next_time(), 2);
    EXPECT_EQ(queue.pop().in_order, second);
    EXPECT_TRUE(queue.empty());
}

TEST(event_queue, the_place_of_an_event_that_was_popped_is_taken_in_order) {
    event_queue queue;
    for (const time_ns at : {1, 5, 3, 9, 7}) queue.push(at, nullptr, nullptr);
    EXPECT_EQ(queue.pop().at, 1);
    EXPECT_EQ(queue.next_time(), 3) << "the popped event is gone";
    queue.push(8, nullptr, nullptr);
    std::vector<time_ns> rest;
    while (!queue.empty()) rest.push_back(queue.pop().at);
    EXPECT_EQ(rest, (std::vector<time_ns>{3, 5, 7, 8, 9}));
}

} // namespace
} // namespace weft::engine
