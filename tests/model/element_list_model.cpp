// Model check of the lists of elements of several owners (K1, K2): an owner has one element, which each of its searches
// finds, complete, as soon as it was added. The steps are those of weft/impl/element_list.hpp.
#include <memory>
#include <mutex>

#include "relacy_run.hpp"

#include "queue/spin_lock.hpp"

#include <weft/impl/element_list.hpp>

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

constexpr const char* unlocked = "added without the lock";
constexpr const char* blindly = "added without a look";
constexpr const char* late_link = "published before it is linked";

// A word that is used like a plain one, and watched.
template <class T>
class field {
public:
    field& operator=(T value) {
        word_.set(value);
        return *this;
    }
    explicit(false) operator T() const { return word_.get(); }

private:
    mutable sync::var<T> word_{T{}};
};

struct element {
    field<const void*> owner;
    field<element*> below;
    field<int> value;
};

// Each thread is an owner, and makes two elements, as two tasks of a worker do.
template <class Derived, int Threads>
struct searching : rl::test_suite<Derived, Threads> {
    using steps = impl::element_list<element>;
    struct state {
        sync::atomic<element*> list{nullptr};
        queue::spin_lock<sync> lock;
        element all[2 * Threads];
        int owners[Threads] = {};
    };
    std::unique_ptr<state> all;

    void before() { all = std::make_unique<state>(); }
    void after() {
        int found[Threads] = {};
        for (element* e = all->list.load(order::relaxed); e; e = e->below)
            for (int o = 0; o < Threads; ++o)
                if (static_cast<const void*>(e->owner) == &all->owners[o]) ++found[o];
        for (const int each : found) RL_ASSERT(each <= 1);
        all.reset();
    }

    element* add(element& fresh) {
        if (!made(unlocked)) all->lock.lock();
        element* own = nullptr;
        if (!made(blindly) && !made(late_link)) {
            own = &steps::add(all->list, fresh);
        } else if (made(blindly) || !(own = steps::find(all->list, fresh.owner))) {
            own = &fresh;
            element* const front = all->list.load(order::relaxed);
            if (made(blindly)) fresh.below = front;
            all->list.store(&fresh, order::release);
            if (made(late_link)) fresh.below = front;
        }
        if (!made(unlocked)) all->lock.unlock();
        return own;
    }

    // per_worker::local(), where the construction of the element may have met another one of the same owner.
    element& local(int owner, element& spare, bool looks = true) {
        const void* const me = &all->owners[owner];
        if (looks)
            if (element* const there = steps::find(all->list, me)) return *there;
        spare.owner = me;
        spare.value = 7;
        return *add(spare);
    }
    void work(int owner, element& spare, element& another) {
        element& own = local(owner, spare);
        RL_ASSERT(static_cast<int>(own.value) == 7);
        RL_ASSERT(&local(owner, another, false) == &own); // two tasks of the owner that both found nothing
        RL_ASSERT(steps::find(all->list, &all->owners[owner]) == &own);
    }
};

struct two_owners : searching<two_owners, 2> {
    void thread(unsigned me) {
        const int own = static_cast<int>(me);
        work(own, all->all[2 * own], all->all[2 * own + 1]);
    }
};
struct three_owners : searching<three_owners, 3> {
    void thread(unsigned me) {
        const int own = static_cast<int>(me);
        work(own, all->all[2 * own], all->all[2 * own + 1]);
    }
};

constexpr scenario scenarios[] = {
    {"two_owners, bounded", 0, search<two_owners>},
    {"two_owners", 50000, search<two_owners>},
    {"three_owners", 100000, search<three_owners>},
};

constexpr mutant step(const char* name) {
    return {name, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit};
}
constexpr mutant mutants[] = {
    {"published in a relaxed way", operation::store, order::release, words::pointers, "::add(",
     mistake::relax},
    {"searched in a relaxed way", operation::load, order::acquire, words::pointers, "::find(",
     mistake::relax},
    step(unlocked),
    step(blindly),
    step(late_link),
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
