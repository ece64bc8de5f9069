// Runs a program if two cores are there, and says whether they were: its line comes after the program's.
// The same for every runtime, whatever the program is written in.
//   launcher PROGRAM [ARGUMENT...]
#include "../common/sample.hpp"

#include <csignal>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

int status_of(char** command) {
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); // a signal that ends this program ends that one, too
        execvp(command[0], command);
        _exit(127);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status)) return 1;
    return WEXITSTATUS(status);
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) return fmt::print(stderr, "usage: {} PROGRAM [ARGUMENT...]\n", argv[0]), 2;
    bench::sample s;
    int status = 0;
    s.with_both_cores([&] { status = status_of(argv + 1); }, true);
    return status != 0 ? status : s.print();
}
