// Finds the pictures of a database that resemble given ones: a pipeline after PARSEC's ferret.
//
//   C. Bienia, S. Kumar, J. P. Singh, K. Li: The PARSEC benchmark suite. PACT 2008.
//   Q. Lv, W. Josephson, Z. Wang, M. Charikar, K. Li: Ferret: a toolkit for content-based similarity search of
//   feature-rich data. EuroSys 2006.
//
// A picture is loaded, segmented, and described by the features of its segments. An index (hashing by random projections,
// so that near features mostly share a cell) gives candidates, which are ranked by how well their segments match.
#pragma once

#include "../common/cost.hpp"
#include "picture.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace examples {

// A pixel of a picture that is made or read, to segment, to describe; a look into one table of the index; a pair of
// segments that is compared.
inline constexpr double load_cycles_per_pixel = 20, segment_cycles_per_pixel = 100,
                        extract_cycles_per_pixel = 9, look_up_cycles_per_table = 330,
                        rank_cycles_per_pair = 9.7;

struct image_database {
    static constexpr std::size_t tables = 8, projections = 6;
    struct segment {
        std::uint32_t image;
        features what;
    };

    std::vector<std::vector<features>> images{};
    std::vector<std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>> cells{
        tables}; // numbers of images

    // The cell of a feature: into which interval it falls along each of some random directions.
    static std::uint64_t cell_of(const features& f, std::size_t table) {
        std::uint64_t cell = table;
        for (std::size_t p = 0; p < projections; ++p) {
            double along = 0;
            for (std::size_t i = 0; i < f.values.size(); ++i)
                along += f.values[i] * random_from_minus_1_to_1(table * projections + p, i);
            constexpr double interval = 0.35;
            cell = mix(cell +
                       static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(along / interval))));
        }
        return cell;
    }
    void add(std::vector<features> segments) {
        const auto number = static_cast<std::uint32_t>(images.size());
        for (const features& f : segments)
            for (std::size_t t = 0; t < tables; ++t) {
                auto& in = cells[t][cell_of(f, t)];
                if (in.empty() || in.back() != number) in.push_back(number);
            }
        images.push_back(std::move(segments));
    }
    std::vector<std::uint32_t> candidates(const std::vector<features>& query) const {
        std::vector<std::uint32_t> all;
        for (const features& f : query)
            for (std::size_t t = 0; t < tables; ++t)
                if (const auto found = cells[t].find(cell_of(f, t)); found != cells[t].end())
                    all.insert(all.end(), found->second.begin(), found->second.end());
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
    }
    // How far two pictures are apart: of each segment to the nearest one of the other picture, by weight, both ways.
    static double distance_of(const std::vector<features>& a, const std::vector<features>& b) {
        const auto one_way = [](const std::vector<features>& from, const std::vector<features>& to) {
            double sum = 0;
            for (const features& f : from) {
                float least = distance(f, to.front());
                for (const features& g : to) least = std::min(least, distance(f, g));
                sum += static_cast<double>(f.weight) * static_cast<double>(least);
            }
            return sum;
        };
        return one_way(a, b) + one_way(b, a);
    }
};

struct image_search {
    static constexpr std::size_t best = 5;
    struct query {
        std::size_t number = 0;
        picture image{};
        std::vector<std::uint8_t> segment{};
        std::vector<features> described{};
        std::vector<std::uint32_t> candidates{};
        std::vector<std::pair<double, std::uint32_t>> ranked{};
    };
    struct sizes {
        std::size_t scenes = 100, views = 3, queries = 50, width = 96, height = 64;
    };

    image_search(const sizes& s, std::uint64_t seed) : size(s), seed_(seed) {}

    std::uint64_t scene_seed(std::size_t scene) const { return seed_ * 1'000'003 + scene; }
    picture view(std::size_t scene, std::size_t number) const {
        return make_view(size.width, size.height, scene_seed(scene), mix(scene_seed(scene)) + number);
    }
    void fill_database() {
        for (std::size_t i = 0; i < size.scenes * size.views; ++i) {
            const picture p = view(i / size.views, i % size.views);
            database.add(features_of(p, segments_of(p)));
        }
    }

    // BEGIN-EXAMPLE image_search
    void run(std::size_t tokens) {
        using weft::stage::parallel, weft::stage::serial_in_order;
        weft::pipeline stages(
            serial_in_order([this] { return load(); }, {.name = "load"}),
            parallel([](query& q) { segment(q); }, {.name = "segment"}),
            parallel([](query& q) { extract(q); }, {.name = "extract"}),
            parallel([this](query& q) { look_up(q); }, {.name = "index"}),
            parallel([this](query& q) { rank(q); }, {.name = "rank"}),
            serial_in_order([this](const query& q) { found.push_back(q.ranked); }, {.name = "out"}));
        stages.run(tokens);
    }
    // END-EXAMPLE image_search

    void run_serially() {
        while (auto q = load()) {
            segment(*q);
            extract(*q);
            look_up(*q);
            rank(*q);
            found.push_back(q->ranked);
        }
    }
    // How many queries have a view of their own scene in front.
    std::size_t right() const {
        std::size_t n = 0;
        for (std::size_t q = 0; q < found.size(); ++q)
            n += !found[q].empty() && found[q].front().second / size.views == scene_of(q);
        return n;
    }
    std::size_t scene_of(std::size_t q) const { return random_at(seed_, q) % size.scenes; }

    // ---- the stages
    std::optional<query> load() {
        if (loaded == size.queries) return std::nullopt;
        query q;
        q.number = loaded++;
        spend(size.width * size.height, load_cycles_per_pixel);
        q.image = view(scene_of(q.number), size.views); // one that the database has not
        weft::touch(q.image.pixels.data(), q.image.pixels.size() * sizeof(colour), weft::access::write);
        return q;
    }
    static void segment(query& q) {
        weft::touch(q.image.pixels.data(), q.image.pixels.size() * sizeof(colour), weft::access::read);
        spend(q.image.pixels.size(), segment_cycles_per_pixel);
        q.segment = segments_of(q.image);
    }
    static void extract(query& q) {
        weft::touch(q.image.pixels.data(), q.image.pixels.size() * sizeof(colour), weft::access::read);
        spend(q.image.pixels.size(), extract_cycles_per_pixel);
        q.described = features_of(q.image, q.segment);
    }
    void look_up(query& q) const {
        spend(q.described.size() * image_database::tables, look_up_cycles_per_table);
        q.candidates = database.candidates(q.described);
    }
    void rank(query& q) const {
        std::size_t pairs = 0;
        for (const std::uint32_t c : q.candidates) {
            const auto& other = database.images[c];
            weft::touch(other.data(), other.size() * sizeof(features), weft::access::read);
            pairs += 2 * other.size() * q.described.size();
            q.ranked.emplace_back(image_database::distance_of(q.described, other), c);
        }
        spend(pairs, rank_cycles_per_pair);
        const std::size_t kept = std::min(best, q.ranked.size());
        std::partial_sort(q.ranked.begin(), q.ranked.begin() + static_cast<std::ptrdiff_t>(kept),
                          q.ranked.end());
        q.ranked.resize(kept);
    }

    sizes size;
    image_database database{};
    std::size_t loaded = 0;
    std::vector<std::vector<std::pair<double, std::uint32_t>>> found{};

private:
    std::uint64_t seed_;
};

} // namespace examples
