/// Where the library begins and ends in a process, and how it gets to know threads.
#include "notes.hpp"
#include "sampling.hpp"
#include "waiting.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace weft::watch {

namespace {

constexpr const char* variable = "LIBWEFT_WATCH"; // not WEFT_: a runtime refuses names that it does not know
constexpr std::size_t longest_path = 4096;

char maps_path[longest_path];

/// Copies the list of what is mapped where, so that addresses can be found in files.
void write_maps() noexcept {
    const int from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    const int to = open(maps_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    char buffer[4096];
    ssize_t n = 0;
    while (from >= 0 && to >= 0 && (n = ::read(from, buffer, sizeof buffer)) > 0)
        if (::write(to, buffer, static_cast<std::size_t>(n)) != n) break;
    if (from >= 0) close(from);
    if (to >= 0) close(to);
}

[[gnu::constructor(101)]] void begin() {
    const char* const given = std::getenv(variable);
    if (!given || !*given) return;
    char path[longest_path];
    // One file for each process: the program may be a script that runs several.
    const int n = std::snprintf(path, sizeof path, "%s.%d", given, static_cast<int>(getpid()));
    const int m = std::snprintf(maps_path, sizeof maps_path, "%s.%d.maps", given, static_cast<int>(getpid()));
    if (n < 0 || m < 0 || static_cast<std::size_t>(m) >= sizeof maps_path) return;
    static_cast<void>(take_stack(0)); // loads what walking a stack needs, outside of handlers
    if (!open_notes(path)) {
        std::fprintf(stderr, "weft: %s cannot be written\n", path);
        return;
    }
    write_maps();
    pthread_atfork(nullptr, nullptr, close_notes); // a child would note in its parent's file
    if (begin_sampling()) sample_this_thread();
}

[[gnu::destructor(101)]] void end() {
    if (is_noting()) write_maps(); // with what was loaded meanwhile
}

struct start {
    void* (*function)(void*);
    void* argument;
};

void* run(void* given) {
    const start s = *static_cast<start*>(given);
    delete static_cast<start*>(given);
    sample_this_thread();
    return s.function(s.argument);
}

original<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> create("pthread_create");

} // namespace

} // namespace weft::watch

using namespace weft::watch;

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) noexcept {
    if (!is_noting()) return create.get()(thread, attributes, function, argument);
    auto* const passed = new (std::nothrow) start{function, argument};
    if (!passed) return EAGAIN;
    const int failed = create.get()(thread, attributes, run, passed);
    if (failed) delete passed;
    return failed;
}
