#include "kmpc/kmpc.hpp"
#include "kmpc/shared_object.hpp"
#include "runtime/sanitizer.hpp"
#include "runtime/wait.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

/// __kmpc_doacross_*: order between the iterations of a nest. A bit for each iteration of the nest says that it has posted, so it does
/// not matter how its loops are shared (ordered(n) with collapse(m)).
using namespace weft::openmp;
using namespace weft::openmp::kmpc;

namespace {

struct dimension {
    std::int64_t lower, upper, step;
};
static_assert(sizeof(dimension) == 24);

constexpr std::uint64_t bits = 64;

std::uint64_t count_of(const dimension& d) noexcept {
    const auto l = static_cast<std::uint64_t>(d.lower), u = static_cast<std::uint64_t>(d.upper),
               s = static_cast<std::uint64_t>(d.step);
    if (d.step > 0) return d.lower > d.upper ? 0 : (u - l) / s + 1;
    return d.lower < d.upper ? 0 : (l - u) / (0 - s) + 1;
}

} // namespace

namespace weft::openmp {

struct doacross_bits : shared_object {
    std::vector<dimension> loops;
    std::unique_ptr<std::atomic<std::uint64_t>[]> posted;

    doacross_bits(const dimension* d, std::size_t n) : loops(d, d + n) {
        std::uint64_t all = 1;
        for (const dimension& l : loops) all *= count_of(l);
        posted = std::make_unique<std::atomic<std::uint64_t>[]>(all / bits + 1);
    }
    /// The number of the iteration in the nest; false if it is none of the nest.
    bool find(const std::int64_t* at, std::uint64_t& number) const noexcept {
        number = 0;
        for (std::size_t i = 0; i < loops.size(); ++i) {
            const dimension& l = loops[i];
            if (l.step > 0 ? at[i] < l.lower || at[i] > l.upper : at[i] > l.lower || at[i] < l.upper)
                return false;
            const auto from = static_cast<std::uint64_t>(l.step > 0 ? l.lower : at[i]),
                       to = static_cast<std::uint64_t>(l.step > 0 ? at[i] : l.lower);
            const auto step = static_cast<std::uint64_t>(l.step);
            number = number * count_of(l) + (to - from) / (l.step > 0 ? step : 0 - step);
        }
        return true;
    }
};

} // namespace weft::openmp

extern "C" {

void __kmpc_doacross_init(location*, gtid, std::int32_t count, const dimension* loops) {
    region& me = current_region();
    if (me.in->size == 1) return; // its iterations run in their order
    me.doacross = &come_to<doacross_bits>(
        me, [&] { return new doacross_bits(loops, static_cast<std::size_t>(count)); });
}

void __kmpc_doacross_post(location*, gtid, const std::int64_t* at) {
    doacross_bits* const d = current_region().doacross;
    std::uint64_t n = 0;
    if (!d || !d->find(at, n)) return;
    auto& word = d->posted[n / bits];
    happens_before(&word); // no event of a tool tells of it
    // release: pairs with the load in the wait
    word.fetch_or(std::uint64_t{1} << n % bits, std::memory_order_release);
    wake_all(&word);
}

void __kmpc_doacross_wait(location*, gtid, const std::int64_t* at) {
    const region& me = current_region();
    doacross_bits* const d = me.doacross;
    std::uint64_t n = 0;
    if (!d || !d->find(at, n)) return;
    const auto& word = d->posted[n / bits];
    const team& t = *me.in;
    wait_until(
        &word,
        [&] {
            // acquire: pairs with the addition of the bit
            return (word.load(std::memory_order_acquire) >> n % bits & 1) != 0 ||
                   t.is_share_cancelled.load(std::memory_order_relaxed) ||
                   t.is_cancelled.load(std::memory_order_relaxed);
        },
        patience::some);
    happens_after(&word);
}

void __kmpc_doacross_fini(location*, gtid) {
    region& me = current_region();
    doacross_bits* const d = std::exchange(me.doacross, nullptr);
    if (d && d->leave()) delete d;
}

} // extern "C"
