#pragma once

#include "policy/parts/class_table.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/seam/policy.hpp"

#include "queue/spin_lock.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

/// What tasks of each class took on each group of cores, and what they are expected to take.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.6.1, 5.7.1: the record
///   TC(f, ipc, n_1..n_k, t_1..t_k), Equations 5.3 to 5.5.
///
/// Group 0 is the fastest, G_1 of the book. Its time is a mean of measured times (5.3). The time in another group follows
/// from the rates (instructions per cycle) that tasks had there, not from the measured times, which interrupts distort:
///
///   - time():       t_i <- (t_i * n_i + t_1 * ipc / ipc_g) / (n_i + 1)   (5.4), the rate of G_1 left as it is: the book's
///                   text changes n_i and t_i only, its formula also the rate, though no task has ended on G_1.
///   - batch_time(): t_j = t_1 * ipc / mean(ipc_j1 .. ipc_jr)              (5.5)
///
/// A rate is per *reference* cycle, here a nanosecond of the engine's clock: per cycle of the core, a task that computes
/// would have the same rate at each frequency. Tasks that ended in G_i before any ended in G_1 are kept as a sum of
/// inverse rates, which 5.4 is applied to as soon as t_1 is known; until then t_i is the mean of measured times, as the
/// book has it for the first task of a class.
///
/// A class whose instructions were not counted for each task uses the known speed of the cores as the rate: source().
namespace weft {

class class_history {
public:
    using class_id = class_table::class_id;
    static constexpr class_id no_class = class_table::no_class;
    static constexpr int most_groups = 8; ///< of those that a machine has, the slowest count as one

    enum class rate_source : std::uint8_t { instructions, speed };

    /// `speeds` by group, descending. `bits`: the table has room for 2^bits classes. Allocates: for policy::attach.
    explicit class_history(std::vector<double> speeds, int bits = 8)
        : speeds_(std::move(speeds))
        , classes_(bits)
        , records_(std::make_unique<record[]>(static_cast<std::size_t>(classes_.capacity()))) {}

    int groups() const noexcept { return std::min(static_cast<int>(speeds_.size()), most_groups); }
    int capacity() const noexcept { return classes_.capacity(); } ///< class ids are below
    std::uint64_t key_of(class_id c) const noexcept { return classes_.key_of(c); }

    /// The class of that key (task_class.hpp), which is added if it is new; no_class if the table is full.
    class_id find_or_add(std::uint64_t key) noexcept { return classes_.find_or_add(key); }
    /// The class of that key; no_class if it was never added.
    class_id find(std::uint64_t key) const noexcept { return classes_.find(key); }

    /// A task of the class has ended in that group after `time` of its own. Any worker.
    void completed(class_id c, int group, time_ns time, std::optional<std::uint64_t> instructions) noexcept {
        if (c == no_class) return;
        group = std::min(group, groups() - 1);
        const auto t = static_cast<double>(std::max<time_ns>(time, 1));
        record& r = of(c);
        const held_lock held(r.lock);
        if (instructions.value_or(0) > 0)
            r.by_instructions.add(group, t, static_cast<double>(*instructions) / t);
        else
            r.uncounted = true;
        r.by_speed.add(group, t, speeds_[static_cast<std::size_t>(group)]);
    }
    void completed(class_id c, int group, const usage& used) noexcept {
        completed(c, group, used.self, used.instructions);
    }

    /// n_i: tasks that ended in that group.
    std::uint64_t count(class_id c, int group) const noexcept {
        return get<std::uint64_t>(c, [&](const rates& of_class) { return of_class.groups[at(group)].n; });
    }
    std::uint64_t count(class_id c) const noexcept {
        return get<std::uint64_t>(c, [&](const rates& of_class) {
            std::uint64_t all = 0;
            for (const group_sums& g : of_class.groups) all += g.n;
            return all;
        });
    }

    /// The mean rate in G_1: instructions per nanosecond, or the speed of the cores. Nothing before a task ended there.
    std::optional<double> ipc(class_id c) const noexcept {
        return get<std::optional<double>>(c, [](const rates& of_class) { return of_class.ipc(); });
    }
    /// t_i by 5.3 and 5.4, in nanoseconds; nothing if no task of the class has ended in that group.
    std::optional<double> time(class_id c, int group) const noexcept {
        return get<std::optional<double>>(c, [&](const rates& of_class) { return of_class.time(at(group)); });
    }
    /// t_j by 5.5, in nanoseconds; nothing if no task of the class has ended in that group, or none in G_1.
    std::optional<double> batch_time(class_id c, int group) const noexcept {
        return get<std::optional<double>>(
            c, [&](const rates& of_class) { return of_class.batch_time(at(group)); });
    }

    rate_source source(class_id c) const noexcept {
        const record& r = of(c);
        const held_lock held(r.lock);
        return r.uncounted ? rate_source::speed : rate_source::instructions;
    }

private:
    struct group_sums {
        std::uint64_t n = 0;
        double measured = 0;       ///< times
        double ipc = 0;            ///< rates
        double estimated = 0;      ///< G_i, i > 1: t_1 * ipc / ipc_g, as t_1 and ipc were when the task ended
        double inverse_before = 0; ///< 1 / ipc_g of the tasks that ended before any task of G_1 did
    };
    struct rates {
        std::array<group_sums, most_groups> groups{};

        std::optional<double> first_time() const noexcept { // t_1
            const group_sums& g = groups[0];
            return g.n == 0 ? std::nullopt : std::optional(g.measured / static_cast<double>(g.n));
        }
        std::optional<double> ipc() const noexcept {
            const group_sums& g = groups[0];
            return g.n == 0 ? std::nullopt : std::optional(g.ipc / static_cast<double>(g.n));
        }
        void add(int group, double time, double rate) noexcept {
            group_sums& g = groups[static_cast<std::size_t>(group)];
            if (group > 0) {
                if (const auto first = first_time())
                    g.estimated += *first * *ipc() / rate;
                else
                    g.inverse_before += 1 / rate;
            }
            ++g.n;
            g.measured += time;
            g.ipc += rate;
        }
        std::optional<double> time(std::size_t group) const noexcept {
            const group_sums& g = groups[group];
            if (g.n == 0) return std::nullopt;
            const auto n = static_cast<double>(g.n);
            const auto first = first_time();
            if (group == 0 || !first) return g.measured / n;
            return (g.estimated + *first * *ipc() * g.inverse_before) / n;
        }
        std::optional<double> batch_time(std::size_t group) const noexcept {
            const group_sums& g = groups[group];
            const auto first = first_time();
            if (g.n == 0 || !first) return std::nullopt;
            if (group == 0) return first;
            return *first * *ipc() / (g.ipc / static_cast<double>(g.n));
        }
    };
    struct record {
        mutable queue::spin_lock<> lock;
        bool uncounted = false; ///< a task of the class had no count of instructions
        rates by_instructions, by_speed;
    };

    static std::size_t at(int group) noexcept { return static_cast<std::size_t>(group); }
    record& of(class_id c) const noexcept { return records_[static_cast<std::size_t>(c)]; }
    template <class T, class Get>
    T get(class_id c, const Get& from) const noexcept {
        if (c == no_class) return T{};
        const record& r = of(c);
        const held_lock held(r.lock);
        return from(r.uncounted ? r.by_speed : r.by_instructions);
    }

    const std::vector<double> speeds_;
    class_table classes_;
    const std::unique_ptr<record[]> records_;
};

} // namespace weft
