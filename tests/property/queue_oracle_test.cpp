// Random sequences of operations against a sequential oracle of the standard library.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <vector>

#include "queue/chase_lev_deque.hpp"
#include "queue/injector.hpp"
#include "queue/locked_list.hpp"
#include "queue/mailbox.hpp"
#include "queue/the_deque.hpp"
#include "queue/worker_set.hpp"

namespace weft::queue {
namespace {

// Pointers are compared in double parentheses: a failing RC_ASSERT prints what a pointer points to.

using numbers = std::vector<unsigned>;

RC_GTEST_PROP(chase_lev_deque, behaves_like_a_deque, (const std::vector<std::uint8_t>& script)) {
    const auto capacity = *rc::gen::inRange<std::size_t>(1, 9);
    // Long enough to grow several times and to run round the ring.
    const auto repeats = *rc::gen::inRange<std::size_t>(1, 20);
    std::vector<int> items(script.size() * repeats + 1);
    std::size_t made = 0;
    chase_lev_deque<int*> tasks(capacity);
    std::deque<int*> oracle;
    const auto back = [&] {
        int* const expected = oracle.empty() ? nullptr : oracle.back();
        if (expected != nullptr) oracle.pop_back();
        return expected;
    };
    const auto front = [&] {
        int* const expected = oracle.empty() ? nullptr : oracle.front();
        if (expected != nullptr) oracle.pop_front();
        return expected;
    };
    for (std::size_t round = 0; round < repeats; ++round) {
        for (const std::uint8_t op : script) {
            switch (op % 8) {
            case 0: RC_ASSERT((tasks.pop() == back())); break;
            case 1: RC_ASSERT((tasks.pop_top() == front())); break;
            case 2: {
                int* got = nullptr;
                const steal_result result = tasks.steal(got);
                int* const expected = front();
                RC_ASSERT((got == expected));
                RC_ASSERT(result == (expected == nullptr ? steal_result::empty : steal_result::ok));
                break;
            }
            default: {
                int* const item = &items[made++];
                tasks.push(item);
                oracle.push_back(item);
            }
            }
            RC_ASSERT(tasks.size() == oracle.size());
            RC_ASSERT(tasks.capacity() >= oracle.size());
        }
    }
    while (!oracle.empty()) RC_ASSERT((tasks.pop() == back()));
    RC_ASSERT((tasks.pop() == nullptr));
}

RC_GTEST_PROP(the_deque, behaves_like_a_deque, (const std::vector<std::uint8_t>& script)) {
    const auto capacity = *rc::gen::inRange<std::size_t>(1, 9);
    // Long enough to grow several times and to run round the rings.
    const auto repeats = *rc::gen::inRange<std::size_t>(1, 20);
    std::vector<int> items(script.size() * repeats + 1);
    std::size_t made = 0;
    the_deque<int*> tasks(capacity);
    std::deque<int*> oracle; // its back is the near end
    const auto back = [&] {
        int* const expected = oracle.empty() ? nullptr : oracle.back();
        if (expected != nullptr) oracle.pop_back();
        return expected;
    };
    for (std::size_t round = 0; round < repeats; ++round) {
        for (const std::uint8_t op : script) {
            switch (op % 8) {
            case 0:
            case 1: RC_ASSERT((tasks.pop() == back())); break;
            case 2: {
                int* const expected = oracle.empty() ? nullptr : oracle.front();
                if (expected != nullptr) oracle.pop_front();
                RC_ASSERT((tasks.steal() == expected));
                break;
            }
            case 3:
            case 4: {
                int* const item = &items[made++];
                tasks.push_far(item);
                oracle.push_front(item);
                break;
            }
            default: {
                int* const item = &items[made++];
                tasks.push(item);
                oracle.push_back(item);
            }
            }
            RC_ASSERT(tasks.size() == oracle.size());
        }
    }
    while (!oracle.empty()) RC_ASSERT((tasks.pop() == back()));
    RC_ASSERT((tasks.pop() == nullptr));
}

struct item {
    list_hook queue_link;
};

RC_GTEST_PROP(mailbox, behaves_like_a_queue, (const std::vector<std::uint8_t>& script)) {
    std::vector<item> items(script.size());
    std::size_t made = 0;
    mailbox<item> box;
    std::deque<item*> oracle;
    for (const std::uint8_t op : script) {
        if (op % 2 == 0) {
            box.put(&items[made]);
            oracle.push_back(&items[made++]);
        } else {
            item* const expected = oracle.empty() ? nullptr : oracle.front();
            if (expected != nullptr) oracle.pop_front();
            RC_ASSERT((box.take() == expected));
        }
        RC_ASSERT(box.empty() == oracle.empty());
    }
    for (item* const expected : oracle) RC_ASSERT((box.take() == expected));
    RC_ASSERT((box.take() == nullptr));
}

RC_GTEST_PROP(locked_list, behaves_like_a_deque, (const std::vector<std::uint8_t>& script)) {
    std::vector<item> items(script.size() * 3);
    std::size_t made = 0;
    locked_list<item> list;
    injector<item> inbox;
    std::deque<item*> oracle;
    for (const std::uint8_t op : script) {
        switch (op % 7) {
        case 0: {
            item* const expected = oracle.empty() ? nullptr : oracle.front();
            if (expected != nullptr) oracle.pop_front();
            RC_ASSERT((list.pop_front() == expected));
            break;
        }
        case 1: {
            item* const expected = oracle.empty() ? nullptr : oracle.back();
            if (expected != nullptr) oracle.pop_back();
            RC_ASSERT((list.try_pop_back() == expected));
            break;
        }
        case 2: {
            // One out of the middle, if there is one.
            if (oracle.empty()) break;
            const auto at = oracle.begin() + op % static_cast<std::ptrdiff_t>(oracle.size());
            item* const wanted = *at;
            oracle.erase(at);
            RC_ASSERT((list.pop_first_if([&](const item& each) { return &each == wanted; }) == wanted));
            break;
        }
        case 3: {
            for (int more = 0; more < 3; ++more) {
                item* const each = &items[made++];
                inbox.push(each);
                oracle.push_back(each);
            }
            list.push_back(inbox.take_all());
            break;
        }
        case 4: {
            item* const each = &items[made++];
            list.push_front(each);
            oracle.push_front(each);
            break;
        }
        default: {
            item* const each = &items[made++];
            list.push_back(each);
            oracle.push_back(each);
        }
        }
        RC_ASSERT(list.size() == oracle.size());
    }
    for (item* const expected : oracle) RC_ASSERT((list.try_pop_front() == expected));
    RC_ASSERT(list.empty());
}

RC_GTEST_PROP(worker_set, behaves_like_a_set, (const std::vector<std::uint16_t>& script)) {
    const auto capacity = *rc::gen::inRange<std::uint32_t>(1, 200);
    worker_set<> workers(capacity);
    std::set<std::uint32_t> oracle;
    for (const std::uint16_t op : script) {
        const std::uint32_t id = (op / 4u) % capacity;
        const std::uint32_t first = (op / 8u) % capacity;
        const std::uint32_t last = first + (op / 16u) % (capacity - first + 1);
        switch (op % 4) {
        case 0: RC_ASSERT(workers.erase(id) == (oracle.erase(id) == 1)); break;
        case 1: {
            const auto in = oracle.lower_bound(first);
            const bool any = in != oracle.end() && *in < last;
            RC_ASSERT(workers.any_in(first, last) == any);
            const bool id_inside = first <= id && id < last;
            auto expected = id_inside ? oracle.lower_bound(id) : in;
            if (expected == oracle.end() || *expected >= last) expected = in;
            const auto taken = workers.take_one_in(first, last, id);
            RC_ASSERT(taken.has_value() == any);
            if (any) {
                RC_ASSERT(*taken == *expected);
                oracle.erase(expected);
            }
            break;
        }
        default: RC_ASSERT(workers.insert(id) == oracle.insert(id).second);
        }
        RC_ASSERT(workers.count() == oracle.size());
        RC_ASSERT(workers.contains(id) == oracle.contains(id));
    }
    numbers found;
    workers.for_each([&](std::uint32_t id) { found.push_back(id); });
    RC_ASSERT(std::ranges::equal(found, oracle));
}

} // namespace
} // namespace weft::queue
