// Memory by itself: how many bytes a second so many cores get, and how long a load takes.
//
//   J. D. McCalpin: Memory bandwidth and machine balance in current high performance computers. IEEE TCCA
//   Newsletter, December 1995 (STREAM).
//
// Each part is a task with memory of its own, and there are as many parts as workers, so each runs on a worker of
// its own from its beginning to its end. `read` sums up numbers, `triad` is that of STREAM, `chase` follows a
// chain through all cache lines, where no load begins before the one before it has ended. What is computed is
// hidden behind the loads, so it costs nothing on a modelled machine.
#pragma once

#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace examples {

enum class stream_kernel : std::uint8_t { read, triad, chase };
enum class stream_place : std::uint8_t { first_touch, one_node, all_nodes };

struct stream_settings {
    stream_kernel kernel = stream_kernel::read;
    std::size_t kbytes = 32 * 1024; // of each array
    std::size_t sweeps = 4;
    stream_place place = stream_place::first_touch;
    int node = 0; // where place is one_node
};

class stream_part {
public:
    static constexpr std::size_t line = 64 / sizeof(double);

    explicit stream_part(const stream_settings& s)
        : settings_(s)
        , numbers_(s.kbytes * 1024 / sizeof(double)) {
        for (auto& a : arrays_) {
            a = std::make_unique_for_overwrite<double[]>(numbers_);
            place(a.get());
            if (settings_.kernel != stream_kernel::triad) break;
        }
    }

    // True if the answer is right.
    bool run(std::uint64_t seed) {
        switch (settings_.kernel) {
        case stream_kernel::read: return read();
        case stream_kernel::triad: return triad();
        case stream_kernel::chase: return chase(seed);
        }
        return false;
    }

private:
    std::size_t bytes() const { return numbers_ * sizeof(double); }

    void place(const double* a) const {
        if (settings_.place == stream_place::one_node) weft::bind_to_node(a, bytes(), settings_.node);
        if (settings_.place == stream_place::all_nodes) weft::interleave(a, bytes());
    }

    // In pieces that end a stretch of code, or all memory traffic of a sweep would be one transfer.
    template <class Piece>
    void sweep(Piece&& piece) const {
        constexpr std::size_t numbers = 4096;
        for (std::size_t first = 0; first < numbers_; first += numbers) {
            const std::size_t last = std::min(first + numbers, numbers_);
            weft::join([&] { piece(first, last); }, [] {});
        }
    }

    // Eight sums, so that no addition waits for the one before it.
    static double sum_of(const double* first, const double* last) {
        double sums[line] = {};
        for (; last - first >= static_cast<std::ptrdiff_t>(line); first += line)
            for (std::size_t i = 0; i < line; ++i) sums[i] += first[i];
        return std::accumulate(first, last, std::accumulate(std::begin(sums), std::end(sums), 0.0));
    }

    bool read() {
        double* a = arrays_[0].get();
        std::iota(a, a + numbers_, 0.0);
        double sum = 0;
        for (std::size_t k = 0; k < settings_.sweeps; ++k)
            sweep([&](std::size_t first, std::size_t last) {
                weft::touch(a + first, (last - first) * sizeof(double), weft::access::read);
                sum += sum_of(a + first, a + last);
            });
        const auto n = static_cast<double>(numbers_);
        return sum == static_cast<double>(settings_.sweeps) * n * (n - 1) / 2; // exact below 2^53
    }

    bool triad() {
        double *a = arrays_[0].get(), *b = arrays_[1].get(), *c = arrays_[2].get();
        std::fill(b, b + numbers_, 1.0);
        std::fill(c, c + numbers_, 2.0);
        for (std::size_t k = 0; k < settings_.sweeps; ++k)
            sweep([&](std::size_t first, std::size_t last) {
                for (const double* from : {b, c})
                    weft::touch(from + first, (last - first) * sizeof(double), weft::access::read);
                weft::touch(a + first, (last - first) * sizeof(double), weft::access::write);
                for (std::size_t i = first; i < last; ++i) a[i] = b[i] + 3 * c[i];
            });
        return std::all_of(a, a + numbers_, [](double x) { return x == 7; });
    }

    // One cycle through all lines, by Sattolo's shuffle.
    bool chase(std::uint64_t seed) {
        const std::size_t lines = numbers_ / line;
        double* a = arrays_[0].get();
        std::vector<std::uint32_t> next(lines);
        std::iota(next.begin(), next.end(), std::uint32_t{0});
        for (std::size_t i = lines - 1; i > 0; --i) std::swap(next[i], next[random_at(seed, i) % i]);
        for (std::size_t i = 0; i < lines; ++i) a[i * line] = next[i];
        std::size_t at = 0;
        for (std::size_t k = 0; k < settings_.sweeps; ++k)
            sweep([&](std::size_t first, std::size_t last) {
                weft::touch(a + first, (last - first) * sizeof(double), weft::access::chase);
                const std::size_t steps = (last - first + line - 1) / line;
                for (std::size_t i = 0; i < steps; ++i) at = static_cast<std::size_t>(a[at * line]);
            });
        return at == 0;
    }

    const stream_settings& settings_;
    std::size_t numbers_;
    std::unique_ptr<double[]> arrays_[3];
};

inline bool stream(const stream_settings& s, int parts, std::uint64_t seed) {
    weft::cost(0); // from here on only what is declared takes time
    std::vector<char> right(static_cast<std::size_t>(parts));
    weft::task_group group;
    for (std::size_t i = 0; i < right.size(); ++i)
        group.run([&s, &right, i, seed] { right[i] = stream_part(s).run(seed + i); });
    group.wait();
    return std::all_of(right.begin(), right.end(), [](char is_right) { return is_right != 0; });
}

} // namespace examples
