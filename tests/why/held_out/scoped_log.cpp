// Two faults: an object writes into a shared log when it is destroyed, under a lock, and one thread adds up the results.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <mutex>
#include <string>
#include <vector>

namespace {

std::mutex log_lock;
std::string log_text;

/// Notes at its end what was done.
class scope {
public:
    explicit scope(int step) : step_(step) {}
    ~scope() {
#if IS_MENDED(1)
        const std::string line = text();
        const std::lock_guard guard(log_lock);
        log_text += line;
#else
        const std::lock_guard guard(log_lock); // FAULT lock
        log_text += text();
#endif
    }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

private:
    std::string text() const { return std::to_string(compute(120 * us, step_)); }
    int step_;
};

double step(int i) {
    const scope here(i);
    return compute(80 * us, i);
}

double total(const std::vector<double>& results) {
#if IS_MENDED(2)
    return weft::parallel_reduce(
        std::size_t{0}, results.size(), 0.0, [&](std::size_t i) { return compute(80 * us, results[i]); },
        [](double a, double b) { return a + b; });
#else
    double sum = 0;
    for (const double x : results) sum += compute(80 * us, x); // FAULT serial
    return sum;
#endif
}

} // namespace

int main() {
    std::vector<double> results(300);
    double sum = 0;
    for (int round = 0; round < 5; ++round) {
        weft::parallel_for(0, 300, [&](int i) { results[static_cast<std::size_t>(i)] = step(i); });
        sum += total(results);
    }
    std::printf("%g %zu\n", sum, log_text.size());
}
