#include <weft/error.hpp>
#include <weft/mutex.hpp>
#include <weft/runtime.hpp>
#include <weft/thread.hpp>

#include <atomic>
#include <mutex>
#include <utility>

/// Threads of the program that are tasks: weft/thread.hpp.
namespace weft::impl {

namespace {

/// Detached threads that may still run. Neither has a destructor: such threads may run until the process ends.
union detached_threads {
    struct list {
        mutex lock;
        std::unique_ptr<thread_state> first{};
    } of;

    detached_threads() : of() {}
    ~detached_threads() {}
};

detached_threads::list& detached() {
    static detached_threads all;
    return all.of;
}

/// Takes the threads that have ended out of the list.
std::unique_ptr<thread_state> take_ended(detached_threads::list& from) noexcept {
    std::unique_ptr<thread_state> ended;
    for (auto* at = &from.first; *at;) {
        if (!(*at)->runs.has_ended()) {
            at = &(*at)->next;
            continue;
        }
        auto one = std::move(*at);
        *at = std::move(one->next);
        one->next = std::move(ended);
        ended = std::move(one);
    }
    return ended;
}

void check_joinable(const std::unique_ptr<thread_state>& t, const char* call) {
    if (!t)
        throw error("this thread is not joinable", call,
                    "one join() or detach() of a thread that was started");
}

} // namespace

thread_id id_of(const thread_state* t) noexcept {
    thread_id id;
    if (t) id.number_ = t->number;
    return id;
}

std::unique_ptr<thread_state> new_thread() {
    static std::atomic<std::uint64_t> made{0};
    auto t = std::make_unique<thread_state>();
    t->number = made.fetch_add(1, std::memory_order_relaxed) + 1; // relaxed: only to be unique
    return t;
}

void join_thread(std::unique_ptr<thread_state> t) {
    check_joinable(t, "join()");
    t->runs.wait();
}

void detach_thread(std::unique_ptr<thread_state> t) {
    check_joinable(t, "detach()");
    std::unique_ptr<thread_state> ended; // destroyed without the lock
    auto& all = detached();
    const std::lock_guard guard(all.lock);
    t->next = std::move(all.first);
    all.first = std::move(t);
    ended = take_ended(all);
}

unsigned workers_for_threads() { return static_cast<unsigned>(runtime::default_runtime().workers()); }

} // namespace weft::impl
