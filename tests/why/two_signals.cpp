// A tick of the watching library comes while another signal waits, again and again: both are blocked, and let in at once.
#include <csignal>
#include <cstdio>
#include <ctime>

namespace {

volatile std::sig_atomic_t handled = 0;

void handler(int) { handled = handled + 1; }

double seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

[[gnu::noinline]] void work() {
    const double until = seconds() + 0.02;
    while (seconds() < until) {}
}

[[gnu::noinline]] void let_in(const sigset_t* both) {
    sigprocmask(SIG_UNBLOCK, both, nullptr);
    sigprocmask(SIG_BLOCK, both, nullptr);
}

} // namespace

int main() {
    struct sigaction own{};
    own.sa_handler = handler;
    sigaction(SIGUSR1, &own, nullptr);
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGPROF);
    sigprocmask(SIG_BLOCK, &both, nullptr);
    for (int i = 0; i < 10; ++i) {
        raise(SIGUSR1);
        work();
        let_in(&both);
    }
    std::printf("%d\n", static_cast<int>(handled));
}
