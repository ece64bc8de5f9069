#include "runtime/crew.hpp"
#include "runtime/tool_state.hpp"

#include <mutex>
#include <set>
#include <utility>

#include <pthread.h>

/// The kernel threads that a tool knows.
namespace weft::openmp::tool {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit thread_record* of_this_thread = nullptr;

/// Those that have begun and not ended.
struct known_threads {
    std::mutex lock;
    std::set<thread_record*> all;
};
known_threads& threads() {
    static auto* const t = new known_threads; // threads end after destructors of static objects, too
    return *t;
}
void end_thread(thread_record& t) noexcept {
    if (region* const r = std::exchange(t.initial, nullptr)) team_task_ends(*r);
    send(event::thread_end, &t.noted);
}

pthread_key_t make_thread_key() noexcept {
    pthread_key_t key{};
    pthread_key_create(&key, [](void* at) {
        auto* const t = static_cast<thread_record*>(at);
        of_this_thread = nullptr;
        {
            known_threads& known = threads();
            const std::lock_guard guard(known.lock);
            if (known.all.erase(t) == 0) return; // the tool has seen its end
        }
        end_thread(*t);
        delete t;
    });
    return key;
}

} // namespace

[[gnu::noinline]] thread_record& this_thread() noexcept {
    if (of_this_thread) return *of_this_thread;
    static const pthread_key_t key = make_thread_key();
    auto* const t = new thread_record;
    of_this_thread = t;
    pthread_setspecific(key, t);
    {
        known_threads& known = threads();
        const std::lock_guard guard(known.lock);
        known.all.insert(t);
    }
    const auto type = weft::impl::hot_self() || is_in_crew() ? thread_type::worker : thread_type::initial;
    send(event::thread_begin, static_cast<int>(type), &t->noted);
    return *t;
}
[[gnu::noinline]] thread_record* known_thread() noexcept { return of_this_thread; }

void end_threads() noexcept {
    std::set<thread_record*> all; // the records stay: their threads may run on
    {
        known_threads& known = threads();
        const std::lock_guard guard(known.lock);
        all.swap(known.all);
    }
    for (thread_record* const t : all)
        if (t != of_this_thread) end_thread(*t);
    if (all.contains(of_this_thread)) end_thread(*of_this_thread);
}

void initial_task_ends(region& r) noexcept {
    // If the thread has ended for the tool already, so has the task.
    if (!of_this_thread || of_this_thread->initial != &r) return;
    of_this_thread->initial = nullptr;
    team_task_ends(r);
}

} // namespace weft::openmp::tool
