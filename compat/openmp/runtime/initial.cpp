#include "runtime/initial.hpp"

#include "runtime/dialect.hpp"
#include "runtime/team.hpp"

#include <atomic>
#include <memory>

#include <pthread.h>

namespace weft::openmp {

namespace {

struct initial_thread {
    team alone{1};
    context own{};
    unsigned number = 0;

    initial_thread() {
        region& r = alone.seats[0].implicit;
        r.icv = settings().first;
        own.current = &r;
    }
};

[[gnu::tls_model("initial-exec")]] thread_local constinit initial_thread* of_this_thread = nullptr;

// Not the destructor of a thread-local object: that would hold the library in memory.
pthread_key_t make_key() noexcept {
    pthread_key_t key{};
    pthread_key_create(&key, [](void* at) {
        of_this_thread = nullptr;
        enter_context(nullptr);
        auto* const t = static_cast<initial_thread*>(at);
        if (tool::is_on()) tool::initial_task_ends(t->alone.seats[0].implicit);
        delete t;
    });
    return key;
}

initial_thread& make() {
    tool::start_once();
    if (of_this_thread) { // the tool has called OpenMP when it started
        if (tool::is_on()) tool::initial_task_begins(of_this_thread->alone.seats[0].implicit);
        return *of_this_thread;
    }
    static const pthread_key_t key = make_key();
    static std::atomic<unsigned> made{0};
    auto t = std::make_unique<initial_thread>();
    t->number = made.fetch_add(1, std::memory_order_relaxed); // a number, orders nothing
    t->alone.seats[0].is_of_first_thread = t->number == 0;
    of_this_thread = t.get();
    pthread_setspecific(key, t.get());
    if (t->number == 0 && speaks_kmp()) show_settings(); // as libomp, which begins now
    if (tool::is_on()) tool::initial_task_begins(t->alone.seats[0].implicit);
    return *t.release();
}

} // namespace

[[gnu::noinline]] context& initial_context() noexcept {
    return of_this_thread ? of_this_thread->own : make().own;
}

[[gnu::noinline]] context* known_initial_context() noexcept {
    return of_this_thread ? &of_this_thread->own : nullptr;
}

[[gnu::noinline]] unsigned number_of_initial_thread() noexcept {
    return of_this_thread ? of_this_thread->number : 0;
}

} // namespace weft::openmp
