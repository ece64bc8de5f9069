// Transfers between accounts, all under one weft::mutex.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <mutex>
#include <vector>

namespace {

class bank {
public:
    explicit bank(std::size_t accounts) : balances_(accounts, 100.0) {}

    void transfer(std::size_t from, std::size_t to) {
#ifdef MENDED
        const double amount = compute(150 * us, 3.0);
        const std::scoped_lock guard(lock_);
#else
        const std::scoped_lock guard(lock_); // FAULT weft_wait
        const double amount = compute(150 * us, 3.0);
#endif
        balances_[from] -= amount;
        balances_[to] += amount;
    }
    double balance(std::size_t account) const { return balances_[account]; }

private:
    weft::mutex lock_;
    std::vector<double> balances_;
};

} // namespace

int main() {
    weft::runtime rt;
    bank b(100);
    rt.run([&] {
        weft::task_group group;
        for (std::size_t i = 0; i < 2000; ++i)
            group.run([&b, i] { b.transfer(i % 100, i * 7 % 100); }); // AT weft_wait
        group.wait();
    });
    std::printf("%g\n", b.balance(7));
}
