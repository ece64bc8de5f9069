// Selection in parallel: which point is the k-th along an axis?
//
// Two coordinates of a sample enclose the wanted one nearly always, and with it about a tenth of the points.
// Two passes over all points, in blocks, count and then separate those below, between and above; the rest is
// std::nth_element. (After Floyd and Rivest: Expected time bounds for selection, CACM 1975.)
#pragma once

#include "../common/cost.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace examples {

using point = std::array<double, 3>;

inline constexpr std::size_t point_block = 8192;               // points that one task counts and moves
inline constexpr std::size_t long_selection = 8 * point_block; // points from which on it is parallel

// A point that std::nth_element has before it; one of the sample; one that is counted, moved, moved back.
inline constexpr double select_cycles_per_point = 39, select_cycles_per_sample = 150,
                        select_cycles_per_count = 3.2, select_cycles_per_move = 6.5,
                        select_cycles_per_copy = 0.75;

namespace kd {

// Brings the k-th point along the axis to place k, none above it before it and none below it after it.
inline void serial_select(point* points, std::size_t n, std::size_t k, std::size_t axis) {
    std::nth_element(points, points + k, points + n,
                     [axis](const point& a, const point& b) { return a[axis] < b[axis]; });
}

// Two coordinates between which the k-th one lies nearly always, and with it a tenth of all: from a sample,
// three standard deviations to both sides.
inline std::pair<double, double> bracket(const point* points, std::size_t n, std::size_t k,
                                         std::size_t axis) {
    std::array<double, 1024> sample;
    touch_block(points, sample.size(), 1, n / sample.size(), weft::access::read);
    spend(sample.size(), select_cycles_per_sample);
    for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = points[i * n / sample.size()][axis];
    std::sort(sample.begin(), sample.end());
    std::size_t middle = k * sample.size() / n;
    return {sample[middle - std::min<std::size_t>(middle, 48)],
            sample[std::min(middle + 48, sample.size() - 1)]};
}

// serial_select in parallel: the points below the bracket, in it and above it become three ranges, and the
// one with place k is searched serially. `spare` has room for all of them.
inline void select(point* points, point* spare, std::size_t n, std::size_t k, std::size_t axis) {
    if (n < long_selection) {
        weft::touch(points, n * sizeof *points, weft::access::readwrite);
        spend(n, select_cycles_per_point);
        return serial_select(points, n, k, axis);
    }
    auto [low, high] = bracket(points, n, k, axis);
    auto part_of = [low, high, axis](const point& p) { return (p[axis] >= low) + (p[axis] > high); };

    // places[block][part]: how many points, then where they go
    std::vector<std::array<std::size_t, 3>> places((n + point_block - 1) / point_block);
    auto for_blocks = [&](const auto& body) {
        weft::parallel_for(std::size_t{0}, places.size(),
                           [&](std::size_t block) {
                               std::size_t begin = block * point_block;
                               body(places[block], begin, std::min(point_block, n - begin));
                           },
                           {.grain = 1, .work = static_cast<double>(n), .bytes = n * sizeof(point)});
    };
    for_blocks([&](std::array<std::size_t, 3>& place, std::size_t begin, std::size_t count) {
        weft::touch(points + begin, count * sizeof *points, weft::access::read);
        spend(count, select_cycles_per_count);
        std::array<std::size_t, 3> mine{};
        for (std::size_t i = begin; i < begin + count; ++i) ++mine[part_of(points[i])];
        place = mine;
    });
    std::array<std::size_t, 4> starts{}; // of the three parts
    for (std::size_t part = 0; part < 3; ++part) {
        starts[part + 1] = starts[part];
        for (auto& place : places) starts[part + 1] += std::exchange(place[part], starts[part + 1]);
    }
    for_blocks([&](std::array<std::size_t, 3> place, std::size_t begin, std::size_t count) {
        weft::touch(points + begin, count * sizeof *points, weft::access::read);
        spend(count, select_cycles_per_move);
        auto from = place;
        for (std::size_t i = begin; i < begin + count; ++i) spare[place[part_of(points[i])]++] = points[i];
        for (std::size_t part = 0; part < 3; ++part) {
            weft::touch(spare + from[part], (place[part] - from[part]) * sizeof *spare, weft::access::write);
        }
    });
    for_blocks([&](const auto&, std::size_t begin, std::size_t count) {
        weft::touch(spare + begin, count * sizeof *spare, weft::access::read);
        weft::touch(points + begin, count * sizeof *points, weft::access::write);
        spend(count, select_cycles_per_copy);
        std::copy_n(spare + begin, count, points + begin);
    });
    std::size_t part = k < starts[1] ? 0 : k < starts[2] ? 1 : 2;
    std::size_t rest = starts[part + 1] - starts[part];
    weft::touch(points + starts[part], rest * sizeof *points, weft::access::readwrite);
    spend(rest, select_cycles_per_point);
    serial_select(points + starts[part], rest, k - starts[part], axis);
}

} // namespace kd

} // namespace examples
