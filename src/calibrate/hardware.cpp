#include "calibrate/hardware.hpp"

#include "calibrate/timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace weft::calibrate {

namespace {

constexpr std::size_t line_bytes = 64;
constexpr std::size_t least_loads = 200'000;
constexpr std::size_t least_memory = std::size_t{64} << 20, most_memory = std::size_t{256} << 20;

/// Of the present clock: additions that wait for each other take a cycle each. 0 where that is not known.
double clock_mhz() {
#if defined(__x86_64__)
    constexpr int count = 1'000'000;
    const double ns = best_ns(9, [] {
        std::uint64_t x = 0;
        for (int i = 0; i < count; i += 10)
            asm volatile("add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\t"
                         "add $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0\n\tadd $1, %0"
                         : "+r"(x));
    });
    return 1e3 * count / ns;
#else
    return 0;
#endif
}

/// Pages from the kernel, large ones if it has them: a walk over them is not to wait for translations of addresses.
class pages {
public:
    explicit pages(std::size_t bytes)
        : mapped_(bytes + large_page_bytes)
        , at_(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        if (at_ == MAP_FAILED) throw std::bad_alloc();
        madvise(at_, mapped_, MADV_HUGEPAGE);
        std::size_t left = mapped_;
        begin_ = at_;
        std::align(large_page_bytes, bytes, begin_, left);
    }
    ~pages() { munmap(at_, mapped_); }
    pages(const pages&) = delete;
    pages& operator=(const pages&) = delete;

    char* at(std::size_t offset) const noexcept { return static_cast<char*>(begin_) + offset; }

private:
    static constexpr std::size_t large_page_bytes = std::size_t{2} << 20;
    std::size_t mapped_;
    void* at_;
    void* begin_; ///< aligned
};

/// Of one load whose address comes from the load before it, in random order over so many bytes.
double load_ns(std::size_t bytes) {
    const pages memory(bytes);
    const std::size_t lines = bytes / line_bytes;
    if (lines < 2) throw std::bad_alloc();
    std::vector<std::uint32_t> order(lines);
    for (std::size_t i = 0; i < lines; ++i) order[i] = static_cast<std::uint32_t>(i);
    std::uint64_t random = 1;
    for (std::size_t i = lines - 1; i > 0; --i) { // Sattolo's shuffle: one cycle through all
        random = random * 6364136223846793005U + 1442695040888963407U;
        std::swap(order[i], order[(random >> 33U) % i]);
    }
    for (std::size_t i = 0; i < lines; ++i) {
        void* const next = memory.at(order[i] * line_bytes);
        std::memcpy(memory.at(i * line_bytes), &next, sizeof next);
    }
    // Whole rounds: a cache that is smaller is to lose each line before its turn comes again.
    const std::size_t loads = std::max(lines, least_loads);
    void* at = memory.at(0);
    const double ns = best_ns(4, [&] {
        for (std::size_t i = 0; i < loads; ++i) std::memcpy(&at, at, sizeof at);
    });
    keep(at);
    return ns / static_cast<double>(loads);
}

/// Beyond the caches, but a small part of the memory that is free.
std::size_t memory_bytes(const machine& here) {
    std::size_t largest = 0;
    for (const cache& c : here.caches()) largest = std::max(largest, static_cast<std::size_t>(c.bytes));
    const auto free_bytes = static_cast<std::size_t>(std::max(0L, sysconf(_SC_AVPHYS_PAGES))) *
                            static_cast<std::size_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
    return std::min(std::clamp(4 * largest, least_memory, most_memory), free_bytes / 8);
}

/// Of the cores of these ranks, which read at the same time, each a part of so many bytes, a number of each line: of all
/// together. As long as it takes to read `enough` bytes.
double read_gbps(const machine& here, rank_range ranks, std::size_t bytes, std::size_t enough) {
    std::vector<int> cores; // a rank of each
    for (int r = ranks.first; r < ranks.last; ++r)
        if (cores.empty() || here.core_at(r).physical_core != here.core_at(cores.back()).physical_core)
            cores.push_back(r);
    const std::size_t share = bytes / cores.size() / line_bytes * line_bytes;
    if (share == 0) throw std::bad_alloc();
    const std::size_t passes = std::max<std::size_t>(enough / bytes, 1);
    std::barrier<> together(static_cast<std::ptrdiff_t>(cores.size()));
    std::vector<std::int64_t> began(cores.size()), ended(cores.size());
    const pages memory(share * cores.size());
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < cores.size(); ++t)
        all.emplace_back([&, t] {
            pin(here.core_at(cores[t]).os_index);
            const char* const its = static_cast<char*>(std::memset(memory.at(t * share), 1, share));
            std::uint64_t sum = 0;
            together.arrive_and_wait();
            began[t] = now_ns();
            for (std::size_t pass = 0; pass < passes; ++pass)
                for (std::size_t i = 0; i < share; i += line_bytes) {
                    std::uint64_t word = 0;
                    std::memcpy(&word, its + i, sizeof word);
                    sum += word;
                }
            ended[t] = now_ns();
            keep(sum);
        });
    for (std::thread& t : all) t.join();
    const auto ns = static_cast<double>(std::ranges::max(ended) - std::ranges::min(began));
    return static_cast<double>(passes * share * cores.size()) / ns;
}

/// The best of three: others of a shared machine read, too.
double best_gbps(const machine& here, rank_range ranks, std::size_t bytes, std::size_t enough) {
    double best = 0;
    for (int i = 0; i < 3; ++i) best = std::max(best, read_gbps(here, ranks, bytes, enough));
    return best;
}

/// The cores of the first memory node that has any.
rank_range first_node_ranks(const machine& here) {
    return std::ranges::find_if(here.memory_nodes(), [](const auto& n) { return n.ranks.size() > 0; })->ranks;
}

/// What leaves room for other data, and what the cache below is too small for.
std::size_t walk_bytes(const cache& its, std::int64_t bytes_below) {
    const auto all = static_cast<double>(its.bytes);
    return static_cast<std::size_t>(bytes_below == 0 ? all / 2
                                                     : std::sqrt(static_cast<double>(bytes_below) * all));
}

/// How much of the last cache holds what a core reads: other tenants of the machine may have the rest. The loads of a walk
/// over S bytes take the cache's time or that of memory, so their mean says which part m misses. In a cache of C bytes that a
/// random block leaves for each that comes, a line is there again after m S / C have come to each place with probability
/// exp(-m S / C), which is 1 - m: so C = m S / -ln(1 - m). Walks of several sizes agree on C; the one in the middle counts.
double bytes_in_use(const cache& its, double cache_ns, double memory_ns) {
    std::vector<double> found;
    for (const double part : {0.25, 0.375, 0.5, 0.75, 1.0}) {
        const double bytes = part * static_cast<double>(its.bytes);
        const double missing = (load_ns(static_cast<std::size_t>(bytes)) - cache_ns) / (memory_ns - cache_ns);
        if (missing > 0.1 && missing < 0.95) found.push_back(missing * bytes / -std::log(1 - missing));
    }
    if (found.empty()) return static_cast<double>(its.bytes);
    const auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
    std::nth_element(found.begin(), middle, found.end());
    return std::min(*middle, static_cast<double>(its.bytes));
}

/// So many multiplications and additions for each number.
template <int Operations>
[[gnu::noinline]] double compute(const double* numbers, std::size_t count, std::size_t times) {
    double sum[4] = {};
    for (std::size_t t = 0; t < times; ++t)
        for (std::size_t i = 0; i + 4 <= count; i += 4)
            for (std::size_t k = 0; k < 4; ++k) {
                double x = numbers[i + k];
                for (int o = 0; o < Operations; ++o) x = x * 0.999 + 0.001;
                sum[k] += x;
            }
    return sum[0] + sum[1] + sum[2] + sum[3];
}

/// The part of its computing that a core hides while it reads, as machines/overlap.cpp measures it. `memory_gbps`: what one core
/// reads of such data.
double overlap(std::size_t bytes, double memory_gbps) {
    constexpr std::size_t few = 2048;
    const std::size_t count = bytes / sizeof(double) / few * few;
    if (count == 0) throw std::bad_alloc();
    const pages memory(count * sizeof(double));
    auto* const numbers = reinterpret_cast<double*>(memory.at(0));
    std::fill_n(numbers, count, 1.0);
    double kept = 0;
    const double computing = best_ns(3, [&] { keep(kept = compute<2>(numbers, few, count / few)); });
    const double both = best_ns(3, [&] { keep(kept = compute<2>(numbers, count, 1)); });
    const double data = static_cast<double>(count * sizeof(double)) / memory_gbps;
    return std::clamp((computing + data - both) / std::min(computing, data), 0.0, 1.0);
}

/// A cache line that goes back and forth between two threads on two ranks.
class ball_game {
public:
    ball_game(const machine& here, int a, int b)
        : other_([this, at = here.core_at(b).os_index] {
            pin(at);
            // acquire: pairs with the store in trip()
            for (int now = 0; (now = ball_.load(std::memory_order_acquire)) >= 0;)
                // release: pairs with the load in trip()
                if (now % 2 == 1) ball_.store(now + 1, std::memory_order_release);
        })
        , one_([this, at = here.core_at(a).os_index] {
            pin(at);
            play();
        }) {
        one_.join();
        ball_.store(-1, std::memory_order_release); // pairs with the load of the other thread
        other_.join();
    }

    /// Of the best of several batches of trips, for one trip: what an ask and its answer take. Nothing if no batch was
    /// undisturbed, since the two threads did not run at the same time.
    std::optional<double> best_ns() const { return best_; }

private:
    static constexpr int batches = 40, trips = 250, patience = 20'000;
    static constexpr std::int64_t most_ns = 300'000'000;

    void play() {
        const auto end = now_ns() + most_ns;
        for (int batch = 0, at = 1; batch < batches && now_ns() < end; ++batch) {
            const auto began = now_ns();
            bool is_undisturbed = true;
            for (int i = 0; i < trips && is_undisturbed; ++i, at += 2) is_undisturbed = trip(at);
            const double ns = static_cast<double>(now_ns() - began) / trips;
            if (is_undisturbed) best_ = std::min(ns, best_.value_or(ns));
        }
    }

    /// False if the other thread let this one wait for long: it does not run all the time.
    bool trip(int at) {
        ball_.store(at, std::memory_order_release); // pairs with the load of the other thread
        int spins = 0;
        while (ball_.load(std::memory_order_acquire) != at + 1)
            ++spins; // pairs with the store of the other thread
        return spins < patience;
    }

    alignas(line_bytes) std::atomic<int> ball_{
        0}; ///< odd: on its way there; even: on its way back; -1: it is over
    alignas(line_bytes) std::optional<double> best_;
    std::thread other_, one_;
};

/// The first rank after rank 0 on another core for which that holds.
template <class Holds>
std::optional<int> first_rank(const machine& here, Holds holds) {
    for (int rank = 1; rank < here.size(); ++rank)
        if (here.core_at(rank).physical_core != here.core_at(0).physical_core && holds(rank)) return rank;
    return std::nullopt;
}

void measure_transfers(const machine& here, figure_values& values) {
    constexpr int games = 8;
    const auto in_domain = first_rank(here, [&](int r) { return here.domain_of(r) == here.domain_of(0); });
    const auto in_package = first_rank(here, [&](int r) {
        return here.package_of(r) == here.package_of(0) && here.domain_of(r) != here.domain_of(0);
    });
    const auto elsewhere = first_rank(here, [&](int r) { return here.package_of(r) != here.package_of(0); });
    const auto take = [&](const char* name, std::optional<int> rank) {
        if (!rank) return;
        // A game is over in a few milliseconds, in which a virtual processor may be elsewhere.
        for (int game = 0; game < games; ++game) {
            if (game > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
            if (const auto ns = ball_game(here, 0, *rank).best_ns())
                values[name] = std::min(*ns, values.try_emplace(name, *ns).first->second);
        }
    };
    take("steal.same_domain_ns", in_domain);
    take("steal.same_package_ns", in_package);
    take("steal.other_package_ns", elsewhere);
    // The nearest one that there is.
    for (const char* name : {"steal.same_domain_ns", "steal.same_package_ns", "steal.other_package_ns"})
        if (const auto found = values.find(name); found != values.end()) {
            values.try_emplace("steal.same_domain_ns",
                               found->second); // of domains with one core, for the matrix
            values["charges.look_away_ns"] = found->second;
            break;
        }
}

template <class Take>
void measure_caches(const machine& here, figure_values& values, const Take& take) {
    constexpr std::size_t enough = std::size_t{64} << 20;
    std::int64_t bytes_below = 0;
    for (const int c : here.caches_of(0)) {
        const cache& its = here.caches()[static_cast<std::size_t>(c)];
        const std::string name = fmt::format("cache.L{}.", its.level);
        const std::size_t bytes = walk_bytes(its, bytes_below);
        take(name + "latency_ns", [&] { return load_ns(bytes); });
        if (bytes_below > 0) {
            take(name + "bandwidth_gbps", [&] { return best_gbps(here, {0, 1}, bytes, enough); });
            // Each core reads more than the cache below holds; where all together would not leave room, nothing is known.
            const int cores = here.core_at(its.shared_by.last - 1).physical_core -
                              here.core_at(its.shared_by.first).physical_core + 1;
            const std::int64_t of_all = 2 * bytes_below * cores;
            if (cores > 1 && of_all <= its.bytes / 4 * 3)
                take(name + "shared_bandwidth_gbps", [&] {
                    return best_gbps(here, its.shared_by, static_cast<std::size_t>(of_all), enough);
                });
        }
        bytes_below = its.bytes;
        const auto found = values.find(name + "latency_ns"), memory = values.find("memory_node.latency_ns");
        if (c != here.caches_of(0).back() || found == values.end() || memory == values.end() ||
            memory->second < 2 * found->second || static_cast<std::size_t>(its.bytes) > memory_bytes(here))
            continue;
        take(name + "bytes", [&] { return bytes_in_use(its, found->second, memory->second); });
    }
}

} // namespace

figure_values measure_hardware(const machine& here) {
    figure_values values;
    // Without the memory for it a figure is not measured.
    const auto take = [&](const std::string& name, auto measured) {
        try {
            values[name] = measured();
        } catch (const std::bad_alloc&) {}
    };
    if (const double mhz = clock_mhz(); mhz > 0) values["core_class.frequency_mhz"] = mhz;
    take("memory_node.latency_ns", [&] { return load_ns(memory_bytes(here)); });
    take("memory_node.bandwidth_gbps",
         [&] { return best_gbps(here, first_node_ranks(here), memory_bytes(here), 3 * memory_bytes(here)); });
    measure_caches(here, values, take);
    const rank_range one{0, 1};
    double alone = 0;
    take("model.loads_in_flight", [&] {
        alone = best_gbps(here, one, memory_bytes(here), memory_bytes(here));
        return std::max(1.0, alone * values.at("memory_node.latency_ns") / line_bytes);
    });
    if (alone > 0) take("model.overlap", [&] { return overlap(memory_bytes(here) / 2, alone); });
    measure_transfers(here, values);
    return values;
}

} // namespace weft::calibrate
