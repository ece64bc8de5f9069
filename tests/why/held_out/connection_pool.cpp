// Tasks take a connection from a pool that has one, and wait for it with a condition variable.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <condition_variable>
#include <mutex>
#include <vector>

namespace {

class pool {
public:
    explicit pool(int connections) : free_(connections) {}
    void take() {
        std::unique_lock guard(lock_);
        while (free_ == 0) has_free_.wait(guard); // FAULT blocking
        --free_;
    }
    void give_back() {
        {
            const std::lock_guard guard(lock_);
            ++free_;
        }
        has_free_.notify_one();
    }

private:
    std::mutex lock_;
    std::condition_variable has_free_;
    int free_;
};

} // namespace

int main() {
#ifdef MENDED
    pool connections(16);
#else
    pool connections(1);
#endif
    std::vector<double> answers(400);
    weft::parallel_for(0, 400, [&](int i) {
        connections.take();
        answers[static_cast<std::size_t>(i)] = compute(ms, i);
        connections.give_back();
    });
    std::printf("%g\n", answers[7]);
}
