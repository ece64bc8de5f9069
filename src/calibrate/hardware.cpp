#include "calibrate/hardware.hpp"

#include "calibrate/timing.hpp"

#include <fmt/format.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

namespace weft::calibrate {

namespace {

constexpr std::size_t line_bytes = 64;
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
    constexpr int loads = 200'000;
    void* at = memory.at(0);
    const double ns = best_ns(4, [&] {
        for (int i = 0; i < loads; ++i) std::memcpy(&at, at, sizeof at);
    });
    keep(at);
    return ns / loads;
}

/// Beyond the caches, but a small part of the memory that is free.
std::size_t memory_bytes(const machine& here) {
    std::size_t largest = 0;
    for (const cache& c : here.caches()) largest = std::max(largest, static_cast<std::size_t>(c.bytes));
    const auto free_bytes = static_cast<std::size_t>(std::max(0L, sysconf(_SC_AVPHYS_PAGES))) *
                            static_cast<std::size_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
    return std::min(std::clamp(4 * largest, least_memory, most_memory), free_bytes / 8);
}

/// Of all cores of the first memory node that has any, which read at the same time.
double node_gbps(const machine& here) {
    const auto& node =
        *std::ranges::find_if(here.memory_nodes(), [](const auto& n) { return n.ranks.size() > 0; });
    const auto threads = static_cast<std::size_t>(node.ranks.size());
    const std::size_t share = memory_bytes(here) / threads / line_bytes * line_bytes;
    constexpr int passes = 3;
    std::barrier<> together(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::int64_t> began(threads), ended(threads);
    if (share == 0) throw std::bad_alloc();
    const pages memory(share * threads);
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            pin(here.core_at(node.ranks.first + static_cast<int>(t)).os_index);
            const char* const its = static_cast<char*>(std::memset(memory.at(t * share), 1, share));
            std::uint64_t sum = 0;
            together.arrive_and_wait();
            began[t] = now_ns();
            for (int pass = 0; pass < passes; ++pass)
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
    return static_cast<double>(passes * share * threads) / ns;
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
    const auto in_domain = first_rank(here, [&](int r) { return here.domain_of(r) == here.domain_of(0); });
    const auto in_package = first_rank(here, [&](int r) {
        return here.package_of(r) == here.package_of(0) && here.domain_of(r) != here.domain_of(0);
    });
    const auto elsewhere = first_rank(here, [&](int r) { return here.package_of(r) != here.package_of(0); });
    const auto take = [&](const char* name, std::optional<int> rank) {
        if (!rank) return;
        if (const auto ns = ball_game(here, 0, *rank).best_ns()) values[name] = *ns;
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
    for (const int c : here.caches_of(0)) {
        const cache& its = here.caches()[static_cast<std::size_t>(c)];
        // Half of it: other data are there, too.
        take(fmt::format("cache.L{}.latency_ns", its.level),
             [&] { return load_ns(static_cast<std::size_t>(its.bytes / 2)); });
    }
    take("memory_node.latency_ns", [&] { return load_ns(memory_bytes(here)); });
    take("memory_node.bandwidth_gbps", [&] { return node_gbps(here); });
    measure_transfers(here, values);
    return values;
}

} // namespace weft::calibrate
