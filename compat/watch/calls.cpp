/// Calls that block in the kernel: sleep, input and output, waits for files, threads and processes.
#include "waiting.hpp"

#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft::watch;

// WATCHED(state, type, name, (parameters), (arguments)): defines the function `name` of the C library.
#define WATCHED(what, type, name, parameters, arguments)                                                     \
    namespace {                                                                                              \
    original<type parameters> name##_original(#name);                                                        \
    }                                                                                                        \
    extern "C" type name parameters {                                                                        \
        return watched(what, 0, [&] { return name##_original.get() arguments; });                            \
    }

WATCHED(state::sleep, int, nanosleep, (const timespec* t, timespec* left), (t, left))
WATCHED(state::sleep, int, clock_nanosleep, (clockid_t c, int flags, const timespec* t, timespec* left),
        (c, flags, t, left))
WATCHED(state::sleep, int, usleep, (useconds_t us), (us))
WATCHED(state::sleep, unsigned, sleep, (unsigned s), (s))

WATCHED(state::transfer, ssize_t, read, (int f, void* to, size_t n), (f, to, n))
WATCHED(state::transfer, ssize_t, write, (int f, const void* from, size_t n), (f, from, n))
WATCHED(state::transfer, ssize_t, pread, (int f, void* to, size_t n, off_t at), (f, to, n, at))
WATCHED(state::transfer, ssize_t, pwrite, (int f, const void* from, size_t n, off_t at), (f, from, n, at))
WATCHED(state::transfer, ssize_t, pread64, (int f, void* to, size_t n, off64_t at), (f, to, n, at))
WATCHED(state::transfer, ssize_t, pwrite64, (int f, const void* from, size_t n, off64_t at), (f, from, n, at))
WATCHED(state::transfer, ssize_t, readv, (int f, const iovec* v, int n), (f, v, n))
WATCHED(state::transfer, ssize_t, writev, (int f, const iovec* v, int n), (f, v, n))
WATCHED(state::transfer, int, fsync, (int f), (f))
WATCHED(state::transfer, int, fdatasync, (int f), (f))
WATCHED(state::transfer, ssize_t, recv, (int f, void* to, size_t n, int flags), (f, to, n, flags))
WATCHED(state::transfer, ssize_t, send, (int f, const void* from, size_t n, int flags), (f, from, n, flags))
WATCHED(state::transfer, int, fflush, (FILE * f), (f))

WATCHED(state::poll, int, poll, (pollfd * files, nfds_t n, int ms), (files, n, ms))
WATCHED(state::poll, int, select, (int n, fd_set* r, fd_set* w, fd_set* x, timeval* t), (n, r, w, x, t))
WATCHED(state::poll, int, epoll_wait, (int f, epoll_event* to, int n, int ms), (f, to, n, ms))
WATCHED(state::poll, int, accept, (int f, sockaddr* from, socklen_t* n), (f, from, n))
WATCHED(state::poll, int, connect, (int f, const sockaddr* to, socklen_t n), (f, to, n))

WATCHED(state::join, int, pthread_join, (pthread_t t, void** result), (t, result))
WATCHED(state::join, pid_t, waitpid, (pid_t p, int* status, int flags), (p, status, flags))

namespace {
original<char*(char*, int, FILE*)> fgets_original("fgets");
original<size_t(void*, size_t, size_t, FILE*)> fread_original("fread");
original<size_t(const void*, size_t, size_t, FILE*)> fwrite_original("fwrite");

/// Calls a function that reads or writes `n` items of `size` bytes.
template <class Call>
[[gnu::always_inline]] inline size_t transferred(size_t size, size_t n, Call call) {
    const bool is_small = size <= most_copied && n <= most_copied && size * n <= most_copied;
    return is_small ? watched_copy(state::transfer, call) : watched(state::transfer, 0, call);
}
} // namespace

extern "C" char* fgets(char* to, int n, FILE* f) {
    return watched_copy(state::transfer, [&] { return fgets_original.get()(to, n, f); });
}

extern "C" size_t fread(void* to, size_t size, size_t n, FILE* f) {
    return transferred(size, n, [&] { return fread_original.get()(to, size, n, f); });
}

extern "C" size_t fwrite(const void* from, size_t size, size_t n, FILE* f) {
    return transferred(size, n, [&] { return fwrite_original.get()(from, size, n, f); });
}

namespace {
original<long(long, ...)> syscall_original("syscall");
}

/// The call of all systems calls: only waits for a futex are watched. Six words are passed on whatever the call takes,
/// as the C library does.
extern "C" long syscall(long number, ...) noexcept {
    va_list list;
    va_start(list, number);
    long a[6];
    for (long& x : a) x = va_arg(list, long);
    va_end(list);
    const auto call = [&] { return syscall_original.get()(number, a[0], a[1], a[2], a[3], a[4], a[5]); };
    const long operation = a[1] & FUTEX_CMD_MASK;
    if (number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET))
        return watched(state::futex, static_cast<std::uint64_t>(a[0]), call);
    return call();
}
