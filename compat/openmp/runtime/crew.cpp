#include "runtime/crew.hpp"

#include "runtime/affinity.hpp"
#include "runtime/launch.hpp"
#include "runtime/settings.hpp"
#include "runtime/team.hpp"
#include "runtime/thread_data.hpp"

#include "engine/threads/futex.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>

/// A member and the seat's holder pass one word:
///
///   holder: the launch, then `has_work` (release); wakes
///   member: waits for a word other than `idle` (acquire), reads the launch, stores `idle`, runs it
///
/// The holder starts the next launch only after the region of the last one has ended, so the member has read that. It need not have come
/// back to its wait.
namespace weft::openmp {

namespace {

enum word : std::uint32_t { idle, has_work, ends };

[[gnu::tls_model("initial-exec")]] thread_local constinit bool in_crew = false;

/// In the child of a fork() there is one thread. relaxed: it changes while there is only that one
constinit std::atomic<unsigned> forks{0};
[[maybe_unused]] const int fork_handler_registered = pthread_atfork(nullptr, nullptr, [] {
    forks.store(forks.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
});

} // namespace

struct crew::member {
    std::atomic<std::uint32_t> next{idle};
    launch* work = nullptr;
    bool looks = false;        ///< each thread of the team can have a processor
    int place = -1;            ///< for the next launch; -1: where it is
    int bound_to = -1;         ///< of the thread
    const unsigned fork_count; ///< when the thread was made
    pthread_t thread{};

    member();
    ~member();
    void tell(word w) noexcept {
        next.store(w, std::memory_order_release); // pairs with the loads in live()
        engine::futex_calls::wake_one(next, ~0U);
    }
    void live() noexcept;
    void go_to_place() noexcept;
};

crew::member::member() : fork_count(forks.load(std::memory_order_relaxed)) {
    keep_library();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (const std::size_t bytes = settings().stack_bytes)
        pthread_attr_setstacksize(&attributes, std::max<std::size_t>(bytes, PTHREAD_STACK_MIN));
    const int failure = pthread_create(
        &thread, &attributes, [](void* m) -> void* { return static_cast<member*>(m)->live(), nullptr; },
        this);
    pthread_attr_destroy(&attributes);
    if (failure == 0) return;
    std::fprintf(stderr,
                 "weft: OpenMP: there is no kernel thread for a thread of a team; given: %s; allowed: fewer "
                 "threads, or WEFT_OPENMP_THREADS=tasks\n",
                 std::strerror(failure));
    std::_Exit(1);
}

crew::member::~member() {
    if (fork_count != forks.load(std::memory_order_relaxed)) return; // the parent has the thread
    tell(ends);
    pthread_join(thread, nullptr);
}

void crew::member::live() noexcept {
    in_crew = true;
    const auto is_told = [&] { return next.load(std::memory_order_acquire) != idle; }; // pairs with tell()
    for (bool looked = false;;) {
        if (!is_told() && !(looked && looks_true(is_told)))
            while (!is_told()) engine::futex_calls::wait(next, idle, nullptr, ~0U);
        if (next.load(std::memory_order_relaxed) == ends) return; // is_told() has acquired it
        launch& l = *work;
        looked = looks; // what the next launch writes is not read before it is told
        go_to_place();
        next.store(idle,
                   std::memory_order_relaxed); // before the end of the region, which the next launch follows
        l.run(l);
    }
}

/// As OMP_PROC_BIND and proc_bind say. The kernel may refuse, if processors were taken from the process meanwhile; the thread runs in any
/// case.
void crew::member::go_to_place() noexcept {
    if (place < 0 || place == bound_to) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : places()[static_cast<std::size_t>(place)])
        CPU_SET(static_cast<std::size_t>(cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) == 0) bound_to = place;
}

crew::crew() = default;
crew::~crew() = default;

void crew::start(const team& t, unsigned number) {
    if (members_.size() <= number) members_.resize(number + 1);
    std::unique_ptr<member>& m = members_[number];
    if (!m || m->fork_count != forks.load(std::memory_order_relaxed)) m = std::make_unique<member>();
    m->work = &t.seats[number].implicit.start;
    m->looks = t.size <= settings().processors;
    m->place = t.seats[number].place.place;
    m->tell(has_work);
}

bool is_in_crew() noexcept { return in_crew; }

void keep_library() noexcept {
    Dl_info of{};
    static void* const handle = dladdr(reinterpret_cast<void*>(&keep_library), &of) && of.dli_fname
                                    ? dlopen(of.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)
                                    : nullptr;
    static_cast<void>(handle);
}

unsigned tasks_of(const team& t, bool is_outermost, unsigned first) {
    const unsigned others = static_cast<unsigned>(t.size) - 1;
    switch (settings().threads_are) {
    case process_settings::thread_kind::tasks: return others;
    case process_settings::thread_kind::kernel_threads: return 0;
    case process_settings::thread_kind::by_data: break;
    }
    if (!is_outermost) return program_has_thread_data() ? 0 : others;
    const unsigned workers = static_cast<unsigned>(worker_count());
    if (first + others <= workers || !code_has_thread_data()) return others;
    return first < workers ? workers - first : 0;
}

} // namespace weft::openmp
