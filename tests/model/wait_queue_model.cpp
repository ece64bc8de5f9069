// Model check of waiting for an event: a waiter that is pushed into a wait queue resumes exactly
// once, whether it is woken before or after it sleeps, by the thread that pops it or by a timer. The thread
// that told it touches neither the waiter nor, after the unlocking, the queue again. The steps on the queue
// and the waiter are the engine's own (engine/run/wait_list.hpp); suspending and the clock are copied from
// wait_queue.cpp and alarm_clock.cpp.
#include <memory>
#include <mutex>
#include <new>

#include "relacy_run.hpp"

#include "engine/run/wait_list.hpp"
#include "queue/spin_lock.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;
using steps = engine::wait_list;

// Mistakes in the order of steps.
constexpr const char* early = "the waiter published before it is saved";
constexpr const char* hasty = "a waiter that was told before it slept sleeps all the same";
constexpr const char* unlocked = "popped without the lock";
constexpr const char* reads_late = "the next waiter read after telling";
constexpr const char* both = "the timer wakes a waiter that another thread has removed";
constexpr const char* uncancelled = "the timer not cancelled";
constexpr const char* overtaken = "the timer cancelled without the lock of the clock";

// A word that is used like a plain one, and watched, to its death and beyond.
template <class T>
class field {
public:
    field() : word_(T{}) {}
    field(const field&) = delete;
    ~field() {
        *this = T{}; // a race for a thread that still reads it
        life_ = 0;
    }
    field& operator=(const field& other) { return *this = static_cast<T>(other); }
    field& operator=(T value) {
        RL_ASSERT(life_ == alive);
        word_.set(value);
        return *this;
    }
    explicit(false) operator T() const {
        RL_ASSERT(life_ == alive);
        return word_.get();
    }
    T operator->() const { return *this; }

private:
    static constexpr unsigned alive = 0x5eed11fe;
    volatile unsigned life_ = alive; // volatile: the last store is read after the end of its life
    sync::var<T> word_;
};

struct waiter {
    field<waiter*> next_, previous_;
    field<bool> queued_;
    engine::completion<sync> told_;
    field<void*> home_;
};

// With the event itself, as in a latch.
struct wait_queue {
    queue::spin_lock<sync> lock_;
    field<waiter*> first_, last_;
    field<bool> happened;

    void lock() { lock_.lock(); }
    void unlock() { lock_.unlock(); }
};

template <class T>
T* create() {
    return ::new (relacy_memory::allocate(sizeof(T))) T;
}
template <class T>
void destroy(T* at) {
    at->~T();
    relacy_memory::release(at, sizeof(T));
}

// The task of a waiter: what is left of it while it sleeps.
struct task {
    sync::var<int> saved{0}; // its context
    sync::atomic<std::uint32_t> resumed{0};
    int went_on = 0; // the threads of a model take turns on one real thread
};

template <class Derived, int Threads, int Waiters>
struct waiting : rl::test_suite<Derived, Threads> {
    struct state {
        task tasks[Waiters];
        sync::var<int> news{0}; // what the event is about
    };
    std::unique_ptr<state> all;
    wait_queue* q = nullptr;

    void before() {
        all = std::make_unique<state>();
        q = create<wait_queue>();
    }
    void after() {
        for (const task& each : all->tasks) RL_ASSERT(each.went_on == 1);
        if (q) destroy(q);
        all.reset();
    }

    void make_ready(std::uintptr_t word) {
        auto& t = *reinterpret_cast<task*>(word);
        RL_ASSERT(t.saved.get() == 1);
        t.saved.set(2);
        t.resumed.store(1, order::release);
    }
    void tell(waiter* list) {
        const auto ready = [this](std::uintptr_t word, void*) { make_ready(word); };
        if (!made(reads_late)) return steps::notify(list, ready);
        while (list) {
            waiter& told = *list;
            const auto word = told.told_.finish(false);
            list = told.next_;
            if (word != engine::completion<>::running) ready(word, nullptr);
        }
    }
    /// waiter::sleep.
    void sleep(waiter& me, task& t) {
        if (me.told_.poll() != engine::completion<>::running) return;
        if (!made(early)) t.saved.set(1);
        const bool wakes = me.told_.wait(reinterpret_cast<std::uintptr_t>(&t));
        if (made(early)) t.saved.set(1);
        if (!wakes && !made(hasty)) return;
        while (t.resumed.load(order::acquire) == 0) sync::yield();
    }
    /// True if it had to wait.
    bool wait(task& t) {
        waiter* const me = create<waiter>();
        q->lock();
        const bool waits = !q->happened;
        if (waits) steps::push(*q, *me);
        q->unlock();
        if (waits) sleep(*me, t);
        RL_ASSERT(all->news.get() == 7);
        destroy(me);
        ++t.went_on;
        return waits;
    }
    void happen() {
        all->news.set(7);
        if (!made(unlocked)) q->lock();
        q->happened = true;
        waiter* const list = steps::pop_all(*q);
        if (!made(unlocked)) q->unlock();
        tell(list);
    }
};

// A latch that goes as soon as its wait has returned.
struct one_waits : waiting<one_waits, 2, 1> {
    void thread(unsigned me) {
        if (me == 0) {
            wait(all->tasks[0]);
            destroy(q);
            q = nullptr;
        } else {
            happen();
        }
    }
};

struct two_wait : waiting<two_wait, 3, 2> {
    void thread(unsigned me) {
        if (me < 2)
            wait(all->tasks[me]);
        else
            happen();
    }
};

// Two units, given one by one, to two waiters: each gets one.
struct one_by_one : waiting<one_by_one, 3, 2> {
    int units = 0; // guarded by q

    void before() {
        waiting::before();
        units = 0;
    }
    void after() {
        RL_ASSERT(units == 0);
        waiting::after();
    }
    void give() {
        q->lock();
        waiter* const first = steps::pop(*q);
        if (!first) ++units;
        q->unlock();
        tell(first);
    }
    void take(task& t) {
        waiter* const me = create<waiter>();
        q->lock();
        const bool waits = units == 0;
        if (waits)
            steps::push(*q, *me);
        else
            --units;
        q->unlock();
        if (waits) sleep(*me, t);
        destroy(me);
        ++t.went_on;
    }
    void thread(unsigned me) {
        if (me < 2) {
            take(all->tasks[me]);
        } else {
            give();
            give();
        }
    }
};

// Waiting with a limit: a timer removes the waiter while another thread pops it, alone or with all others.
// `Wakers` is 0 or 1.
template <class Derived, int Wakers, bool All = false>
struct limited : waiting<Derived, 2 + Wakers, 1> {
    using base = waiting<Derived, 2 + Wakers, 1>;
    using base::all;
    using base::q;

    struct clock_state {
        queue::spin_lock<sync> lock;
        sync::var<waiter*> pending{nullptr};
        sync::atomic<std::uint32_t> over{0};
    };
    struct alarm {
        field<bool> rang;
    };
    std::unique_ptr<clock_state> clock;
    alarm* bell = nullptr;
    bool popped = false;

    void before() {
        base::before();
        clock = std::make_unique<clock_state>();
        bell = nullptr;
        popped = false;
    }
    void after() {
        clock.reset();
        base::after();
    }

    /// waiter::sleep_for, on the stack of the task.
    void wait_at_most(task& t) {
        waiter* const me = create<waiter>();
        q->lock();
        steps::push(*q, *me);
        q->unlock();
        bell = create<alarm>();
        set_timer(me);
        this->sleep(*me, t);
        if (made(overtaken))
            clock->pending.set(nullptr);
        else if (!made(uncancelled))
            set_timer(nullptr);
        const bool woken = !bell->rang;
        RL_ASSERT(woken == popped);
        destroy(bell);
        destroy(me);
        ++t.went_on;
        clock->over.store(1, order::release);
    }
    void set_timer(waiter* w) {
        const std::lock_guard held(clock->lock);
        clock->pending.set(w);
    }
    /// Fires on the clock's thread, under its lock.
    void fire(waiter& w) {
        const auto wake = [this](waiter* list) { this->tell(list); };
        if (made(both)) {
            steps::remove(*q, w);
            bell->rang = true;
            wake(&w);
        } else {
            steps::expire(*q, w, bell->rang, wake);
        }
    }
    void run_clock() {
        while (clock->over.load(order::acquire) == 0) {
            {
                const std::lock_guard held(clock->lock);
                if (waiter* const w = clock->pending.get()) {
                    clock->pending.set(nullptr);
                    return fire(*w);
                }
            }
            sync::yield();
        }
    }
    void pop_one() {
        if (!made(unlocked)) q->lock();
        waiter* const first = All ? steps::pop_all(*q) : steps::pop(*q);
        if (first) popped = true;
        if (!made(unlocked)) q->unlock();
        this->tell(first);
    }
    void thread(unsigned me) {
        if (me == 0)
            wait_at_most(all->tasks[0]);
        else if (me == 1)
            run_clock();
        else
            pop_one();
    }
};
struct limit_only : limited<limit_only, 0> {};
struct limit_or_event : limited<limit_or_event, 1> {};
struct limit_or_all : limited<limit_or_all, 1, true> {};

constexpr scenario scenarios[] = {
    {"one_waits, bounded", 0, search<one_waits>},  {"one_waits", 50000, search<one_waits>},
    {"two_wait", 50000, search<two_wait>},         {"one_by_one", 50000, search<one_by_one>},
    {"limit_only", 50000, search<limit_only>},     {"limit_or_event", 100000, search<limit_or_event>},
    {"limit_or_all", 50000, search<limit_or_all>},
};

constexpr mutant step(const char* name) {
    return {name, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit};
}
constexpr mutant mutants[] = {
    {"told relaxed", operation::exchange, order::acq_rel, words::numbers, "::finish(", mistake::relax},
    {"told in two steps", operation::exchange, order::acq_rel, words::numbers, "::finish(", mistake::tear},
    {"poll relaxed", operation::load, order::acquire, words::numbers, "::poll(", mistake::relax},
    {"wait in two steps", operation::compare_exchange, order::acq_rel, words::numbers, "::wait(",
     mistake::tear},
    {"unlock relaxed", operation::store, order::release, words::numbers, "::unlock(", mistake::relax},
    step(early),
    step(hasty),
    step(unlocked),
    step(reads_late),
    step(both),
    step(uncancelled),
    step(overtaken),
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
