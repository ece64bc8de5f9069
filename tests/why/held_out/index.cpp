// Three faults: the program waits for a server between its steps, one thread reads the lines, and an index is
// built under a lock.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// A request to a server, which answers after 25 ms.
void fetch() {
    std::this_thread::sleep_for(25ms); // FAULT waiting_outside
}

struct line {
    double key = 0;
    double value = 0;
};

void parse(line& l, int number) { l.key = compute(120 * us, number); }

class index {
public:
    void put(const line& l) {
#if IS_MENDED(2)
        const std::string text = entry(l);
        const std::lock_guard guard(lock_);
        entries_[l.key] = text;
#else
        const std::lock_guard guard(lock_); // FAULT lock
        entries_[l.key] = entry(l);
#endif
    }
    std::size_t size() const { return entries_.size(); }

private:
    static std::string entry(const line& l) { return std::to_string(compute(250 * us, l.value)); }
    std::mutex lock_;
    std::map<double, std::string> entries_;
};

} // namespace

int main() {
    std::vector<line> lines(200);
    index all;
    for (int page = 0; page < 5; ++page) {
#if IS_MENDED(1)
        std::thread request;
        if (page == 0)
            fetch();
        else
            request = std::thread(fetch); // while the page before is worked on
#else
        fetch();
#endif
#if IS_MENDED(3)
        weft::parallel_for(0, 200, [&](int i) { parse(lines[static_cast<std::size_t>(i)], i); });
#else
        for (int i = 0; i < 200; ++i) parse(lines[static_cast<std::size_t>(i)], i); // FAULT serial
#endif
        weft::parallel_for(0, 200, [&](int i) { all.put(lines[static_cast<std::size_t>(i)]); });
#if IS_MENDED(1)
        if (request.joinable()) request.join();
#endif
    }
    std::printf("%zu\n", all.size());
}
