#include "runtime/crew.hpp"
#include "runtime/tool_state.hpp"

#include <utility>

#include <pthread.h>

/// The kernel threads that a tool knows.
namespace weft::openmp::tool {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit thread_record* of_this_thread = nullptr;

void end_thread(thread_record& t) noexcept {
    if (region* const r = std::exchange(t.initial, nullptr)) team_task_ends(*r);
    send(event::thread_end, &t.noted);
}

pthread_key_t make_thread_key() noexcept {
    pthread_key_t key{};
    pthread_key_create(&key, [](void* at) {
        auto* const t = static_cast<thread_record*>(at);
        of_this_thread = nullptr;
        if (is_on()) end_thread(*t); // else the tool has ended before it
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
    const auto type = weft::impl::hot_self() || is_in_crew() ? thread_type::worker : thread_type::initial;
    send(event::thread_begin, static_cast<int>(type), &t->noted);
    return *t;
}
[[gnu::noinline]] thread_record* known_thread() noexcept { return of_this_thread; }

void end_this_thread() noexcept {
    if (of_this_thread) end_thread(*of_this_thread);
}

void initial_task_ends(region& r) noexcept {
    // If the thread has ended for the tool already, so has the task.
    if (!of_this_thread || of_this_thread->initial != &r) return;
    of_this_thread->initial = nullptr;
    team_task_ends(r);
}

} // namespace weft::openmp::tool
