// Tasks of a group write into a table under a std::shared_mutex.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <map>
#include <mutex>
#include <shared_mutex>

namespace {

class table {
public:
    void put(int key) {
#ifdef MENDED
        const double value = compute(150 * us, key);
        const std::unique_lock guard(lock_);
        values_[key] = value;
#else
        const std::unique_lock guard(lock_); // FAULT lock
        values_[key] = compute(150 * us, key);
#endif
    }
    std::size_t size() const { return values_.size(); }

private:
    std::shared_mutex lock_;
    std::map<int, double> values_;
};

} // namespace

int main() {
    weft::runtime rt;
    table values;
    rt.run([&] {
        weft::task_group group;
        for (int key = 0; key < 1500; ++key) group.run([&, key] { values.put(key); });
        group.wait();
    });
    std::printf("%zu\n", values.size());
}
