// What a program pays for the runtime from its start to its end: the program starts itself again and again, to do nothing, and
// to do one join in the default runtime; the difference of the two is Weft's part.
//   starts=20
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>

extern char** environ;

namespace {

/// The median time of a start with that argument, from the call that starts the process until its end is known.
double median_ms(const std::string& argument, int starts, bench::sample& s) {
    std::string self = "/proc/self/exe", given = argument;
    char* const arguments[] = {self.data(), given.data(), nullptr};
    std::vector<double> ms;
    for (int k = 0; k < starts; ++k)
        ms.push_back(bench::time_ns([&] {
                         pid_t child = 0;
                         int status = -1;
                         if (posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments, environ) == 0)
                             waitpid(child, &status, 0);
                         s.check(status == 0);
                     }) *
                     1e-6);
    std::nth_element(ms.begin(), ms.begin() + starts / 2, ms.end());
    return ms[static_cast<std::size_t>(starts) / 2];
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string(argv[1]) == "nothing") return 0;
    if (argc == 2 && std::string(argv[1]) == "join") {
        const auto [a, b] = weft::join([] { return 1; }, [] { return 2; });
        return a + b == 3 ? 0 : 1;
    }
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const int starts = given.number("starts", 20);
        s.add("nothing", median_ms("nothing", starts, s));
        s.add("join", median_ms("join", starts, s));
    });
}
