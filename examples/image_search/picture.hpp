// Pictures that are made, their segments, and the features of these.
#pragma once

#include "../common/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace examples {

struct colour {
    float red, green, blue;
};
inline float distance(const colour& a, const colour& b) {
    return (a.red - b.red) * (a.red - b.red) + (a.green - b.green) * (a.green - b.green) +
           (a.blue - b.blue) * (a.blue - b.blue);
}

struct picture {
    std::size_t width = 0, height = 0;
    std::vector<colour> pixels{}; // by rows
};

// A scene: a ground and some discs, whose colours and places the scene draws. Views of a scene differ a little.
inline picture make_view(std::size_t width, std::size_t height, std::uint64_t scene, std::uint64_t view) {
    struct disc {
        double x, y, radius;
        colour c;
    };
    const auto drawn = [](std::uint64_t seed, std::uint64_t i) {
        return 0.5 + 0.5 * random_from_minus_1_to_1(seed, i);
    };
    const auto colour_of = [&](std::uint64_t i) {
        return colour{static_cast<float>(drawn(scene, i)), static_cast<float>(drawn(scene, i + 1)),
                      static_cast<float>(drawn(scene, i + 2))};
    };
    std::vector<disc> discs;
    for (std::uint64_t d = 0; d < 3 + scene % 4; ++d) {
        const std::uint64_t at = 16 * (d + 1);
        discs.push_back({drawn(scene, at) + 0.02 * random_from_minus_1_to_1(view, at),
                         drawn(scene, at + 1) + 0.02 * random_from_minus_1_to_1(view, at + 1),
                         0.1 + 0.2 * drawn(scene, at + 2), colour_of(at + 3)});
    }
    picture p{width, height, std::vector<colour>(width * height, colour_of(0))};
    for (std::size_t y = 0; y < height; ++y) {
        for (std::size_t x = 0; x < width; ++x) {
            colour& here = p.pixels[y * width + x];
            for (const disc& d : discs) {
                const double across = static_cast<double>(x) / static_cast<double>(width) - d.x,
                             down = static_cast<double>(y) / static_cast<double>(height) - d.y;
                if (across * across + down * down < d.radius * d.radius) here = d.c;
            }
            const auto noise =
                static_cast<float>(0.03 * random_from_minus_1_to_1(view, 1000 + y * width + x));
            here = {here.red + noise, here.green + noise, here.blue + noise};
        }
    }
    return p;
}

inline constexpr std::size_t most_segments = 6, segment_rounds = 5;

// To which segment each pixel belongs: those of similar colour (k-means with fixed beginnings, so always the same).
inline std::vector<std::uint8_t> segments_of(const picture& p) {
    std::array<colour, most_segments> centre;
    for (std::size_t s = 0; s < most_segments; ++s)
        centre[s] = p.pixels[(2 * s + 1) * p.pixels.size() / (2 * most_segments)];
    std::vector<std::uint8_t> segment(p.pixels.size());
    for (std::size_t round = 0; round < segment_rounds; ++round) {
        std::array<std::array<double, 4>, most_segments> sum{};
        for (std::size_t i = 0; i < p.pixels.size(); ++i) {
            const colour& c = p.pixels[i];
            std::size_t nearest = 0;
            float least = distance(c, centre[0]);
            for (std::size_t s = 1; s < most_segments; ++s)
                if (const float d = distance(c, centre[s]); d < least) least = d, nearest = s;
            segment[i] = static_cast<std::uint8_t>(nearest);
            sum[nearest][0] += c.red, sum[nearest][1] += c.green, sum[nearest][2] += c.blue,
                sum[nearest][3] += 1;
        }
        for (std::size_t s = 0; s < most_segments; ++s)
            if (const double n = sum[s][3]; n > 0)
                centre[s] = {static_cast<float>(sum[s][0] / n), static_cast<float>(sum[s][1] / n),
                             static_cast<float>(sum[s][2] / n)};
    }
    return segment;
}

// Of a segment: mean colour, centre, spread across and down; and its part of the picture.
struct features {
    std::array<float, 7> values{};
    float weight = 0;

    bool operator==(const features&) const = default;
    friend float distance(const features& a, const features& b) {
        float d = 0;
        for (std::size_t i = 0; i < a.values.size(); ++i)
            d += (a.values[i] - b.values[i]) * (a.values[i] - b.values[i]);
        return d;
    }
};

inline std::vector<features> features_of(const picture& p, const std::vector<std::uint8_t>& segment) {
    std::array<std::array<double, 8>, most_segments> sum{};
    for (std::size_t i = 0; i < p.pixels.size(); ++i) {
        const double x = static_cast<double>(i % p.width) / static_cast<double>(p.width),
                     y = static_cast<double>(i / p.width) / static_cast<double>(p.height);
        const colour& c = p.pixels[i];
        auto& s = sum[segment[i]];
        s[0] += c.red, s[1] += c.green, s[2] += c.blue, s[3] += x, s[4] += y, s[5] += x * x, s[6] += y * y,
            s[7] += 1;
    }
    std::vector<features> all;
    for (const auto& s : sum) {
        const double n = s[7];
        if (n == 0) continue;
        features f;
        for (std::size_t i = 0; i < 5; ++i) f.values[i] = static_cast<float>(s[i] / n);
        f.values[5] = static_cast<float>(std::sqrt(std::max(0.0, s[5] / n - s[3] * s[3] / (n * n))));
        f.values[6] = static_cast<float>(std::sqrt(std::max(0.0, s[6] / n - s[4] * s[4] / (n * n))));
        f.weight = static_cast<float>(n / static_cast<double>(p.pixels.size()));
        all.push_back(f);
    }
    return all;
}

} // namespace examples
