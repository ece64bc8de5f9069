// Islands of four sizes that breed, a task each, and send each other their best after every batch (../islands/islands.hpp): GA
// of the book, whose batches have alpha islands of each of the three larger sizes, and otherwise the smallest (5.10.4). Of the
// sizes the book says only that the fastest core needs less than 200 us for the smallest and less than 10 ms for the largest.
// So the largest is 50 times the smallest here, and each size 3.7 times the next one.
#pragma once

#include "../islands/islands.hpp"
#include "batch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace examples {

class breeding final : public workload {
public:
    struct size {
        std::size_t population;
        std::string_view name;
    };
    static constexpr std::array<size, 4> sizes = {
        {{1000, "ga-1000"}, {271, "ga-271"}, {74, "ga-74"}, {20, "ga-20"}}};

    // The largest size costs `most_cycles`, rounded to whole generations.
    breeding(std::size_t islands, std::size_t of_each_size, double most_cycles, std::uint64_t seed)
        : generations_(
              std::max(1, static_cast<int>(most_cycles / (islands_cycles_per_gene * genes * 1000.0) + 0.5))) {
        for (std::size_t i = 0; i < islands; ++i)
            of_.push_back(of_each_size == 0 ? sizes.size() - 1
                                            : std::min(i / of_each_size, sizes.size() - 1));
        for (std::size_t i = islands; i > 1; --i) // tasks come in no order of their sizes
            std::swap(of_[i - 1], of_[random_at(seed, i) % i]);
        islands_.reserve(islands);
        for (std::size_t i = 0; i < islands; ++i)
            islands_.emplace_back(sizes[of_[i]].population, mix(seed) + i);
    }

    std::size_t begin_batch(int) override { return islands_.size(); }

    weft::hints hint(std::size_t i) const override {
        const size& s = sizes[of_[i]];
        return {.work = static_cast<double>(s.population), .bytes = islands_[i].bytes(), .name = s.name};
    }

    void run(std::size_t i) override { islands_[i].breed(generations_); }

    std::uint64_t end_batch() override {
        if (!kernels_compute) return 0;
        std::vector<individual> guests;
        for (const island& i : islands_) guests.push_back(i.best());
        std::uint64_t all = 0;
        for (std::size_t i = 0; i < islands_.size(); ++i) {
            all = mix(all + std::bit_cast<std::uint64_t>(guests[i].value));
            islands_[(i + 1) % islands_.size()].settle(guests[i]);
        }
        return all;
    }

private:
    int generations_;
    std::vector<std::size_t> of_; // by island, its size
    std::vector<island> islands_;
};

} // namespace examples
