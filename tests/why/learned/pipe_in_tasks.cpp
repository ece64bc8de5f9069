// Each task asks a server over a pipe and waits for the answer, which takes 2 ms.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

/// A connection to a server that answers each letter 2 ms after it has read it.
class connection {
public:
    connection() {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) != 0) return;
        server_ = std::thread([end = ends_[1]] {
            for (char letter = 0; read(end, &letter, 1) == 1;) {
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                if (write(end, &letter, 1) != 1) return;
            }
        });
    }
    ~connection() {
        shutdown(ends_[0], SHUT_RDWR);
        if (server_.joinable()) server_.join();
        close(ends_[0]);
        close(ends_[1]);
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    void ask() { failed_ |= write(ends_[0], "x", 1) != 1; }
    void wait() {
        char letter = 0;
        failed_ |= read(ends_[0], &letter, 1) != 1; // FAULT blocking
    }
    bool failed() const { return failed_; }

private:
    int ends_[2] = {-1, -1};
    bool failed_ = false;
    std::thread server_;
};

} // namespace

int main() {
    std::vector<connection> servers(25);
    std::vector<double> data(25, 1.0);
    for (int round = 0; round < 6; ++round) {
#ifdef MENDED
        for (connection& c : servers) c.ask();
#endif
        weft::parallel_for(std::size_t{0}, servers.size(),
                           [&](std::size_t i) {
#ifndef MENDED
                               servers[i].ask();
#endif
                               servers[i].wait();
                               data[i] += compute(2 * ms);
                           },
                           {.grain = 1});
    }
    std::printf("%g %d\n", data[7], servers[3].failed());
}
