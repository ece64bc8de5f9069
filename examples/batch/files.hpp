// Files of different sizes, each of which a task of its own compresses or hashes.
//
// The sizes are drawn from a Pareto distribution of exponent 1 with two ends: half as many files are twice as large, as it is said
// of files (M. E. Crovella, A. Bestavros: Self-similarity in World Wide Web traffic. IEEE/ACM Trans. Networking 5(6),
// 1997). The largest is 128 times the smallest. A file's class is its size, rounded down to a power of two
// times the smallest.
#pragma once

#include "../common/cost.hpp"
#include "../common/random.hpp"
#include "batch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace examples {

// English in a way: words of a fixed vocabulary, the n-th in rank 1/n as often as the first.
inline std::vector<std::uint8_t> made_text(std::size_t size, std::uint64_t seed) {
    constexpr std::size_t words = 4096;
    constexpr std::string_view letters = "etaoinshrdlucmfwypvbgkjqxz";
    const auto part = [](std::uint64_t drawn) { return static_cast<double>(drawn >> 11) * 0x1p-53; };
    std::vector<std::string> vocabulary(words);
    for (std::size_t i = 0; i < words; ++i) {
        std::uint64_t drawn = random_at(seed, i);
        for (std::uint64_t left = 2 + drawn % 8; left > 0; --left) {
            drawn = mix(drawn);
            const double often = part(drawn) * part(drawn);
            vocabulary[i] += letters[static_cast<std::size_t>(often * static_cast<double>(letters.size()))];
        }
        vocabulary[i] += ' ';
    }
    std::vector<std::uint8_t> text;
    text.reserve(size + 16);
    for (std::uint64_t i = 0; text.size() < size; ++i) {
        const double rank = std::exp(part(random_at(seed + 1, i)) * std::log(static_cast<double>(words)));
        const std::string& word = vocabulary[std::min(static_cast<std::size_t>(rank), words) - 1];
        text.insert(text.end(), word.begin(), word.end());
    }
    text.resize(size);
    return text;
}

// What a codec has:
//
//   static constexpr std::string_view name;
//   static constexpr double cycles_a_byte;                // see common/cost.hpp
//   std::size_t scratch_bytes(std::size_t size)           // that a task works on besides its file, again and again
//   std::size_t output_bytes(std::size_t size)            // that it writes once
//   std::uint64_t process(file, buffer, bool check)       // a digest of the result; check: undoes it, and compares
template <class Codec>
class files final : public workload {
public:
    static constexpr double largest_to_smallest = 128;
    static constexpr std::size_t classes = 7;

    // A file of the largest size costs `most_cycles`. A batch has more than `tasks` files, up to a quarter more.
    files(std::size_t tasks, double most_cycles, std::uint64_t seed, bool checks)
        : tasks_(tasks)
        , smallest_(most_cycles / Codec::cycles_a_byte / largest_to_smallest)
        , seed_(seed)
        , checks_(checks) {
        for (const char c : Codec::name) seed_ = mix(seed_ + static_cast<std::uint8_t>(c));
        if (smallest_ < 1) throw usage_error("--cycles: too few for files of a byte");
        text_ = made_text(static_cast<std::size_t>(4 * smallest_ * largest_to_smallest), seed);
        for (std::size_t c = 0; c < classes; ++c)
            names_[c] = std::string(Codec::name) + "-" + std::to_string(std::size_t{1} << c);
    }

    std::size_t begin_batch(int number) override {
        std::uint64_t drawn = mix(seed_ + static_cast<std::uint64_t>(number));
        const auto draw = [&] {
            drawn = mix(drawn);
            return static_cast<double>(drawn >> 11) * 0x1p-53;
        };
        const std::size_t count =
            tasks_ + 1 + static_cast<std::size_t>(draw() * static_cast<double>(tasks_) / 4);
        files_.resize(count);
        results_.assign(count, 0);
        for (file& f : files_) {
            const double times = 1 / (1 - draw() * (1 - 1 / largest_to_smallest));
            f.size = static_cast<std::size_t>(smallest_ * times);
            f.from = static_cast<std::size_t>(draw() * static_cast<double>(text_.size() - f.size));
            f.of = std::min(static_cast<std::size_t>(std::log2(times)), classes - 1);
        }
        buffers_.resize(std::max(buffers_.size(), count));
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t bytes = buffer_bytes(files_[i].size);
            if (buffers_[i].size < bytes)
                buffers_[i] = {std::make_unique_for_overwrite<std::uint8_t[]>(bytes), bytes};
        }
        return count;
    }

    weft::hints hint(std::size_t i) const override {
        const file& f = files_[i];
        return {.work = static_cast<double>(f.size),
                .bytes = f.size + buffer_bytes(f.size),
                .name = names_[f.of]};
    }

    void run(std::size_t i) override {
        const file& f = files_[i];
        weft::touch(text_.data() + f.from, f.size, weft::access::read);
        const std::size_t scratch = Codec::scratch_bytes(f.size);
        weft::touch(buffers_[i].bytes.get(), scratch, weft::access::readwrite);
        weft::touch(buffers_[i].bytes.get() + scratch, Codec::output_bytes(f.size), weft::access::write);
        spend(f.size, Codec::cycles_a_byte, [&] {
            const std::span text(text_.data() + f.from, f.size);
            results_[i] = Codec::process(text, {buffers_[i].bytes.get(), buffers_[i].size}, checks_);
        });
    }

    std::uint64_t end_batch() override {
        std::uint64_t all = 0;
        for (const std::uint64_t each : results_) all = mix(all + each);
        return all;
    }

private:
    struct file {
        std::size_t from, size, of;
    };
    static std::size_t buffer_bytes(std::size_t size) {
        return Codec::scratch_bytes(size) + Codec::output_bytes(size);
    }
    struct buffer {
        std::unique_ptr<std::uint8_t[]> bytes;
        std::size_t size = 0;
    };

    std::size_t tasks_;
    double smallest_; // bytes
    std::uint64_t seed_;
    bool checks_;
    std::vector<std::uint8_t> text_; // a file is a part of it
    std::array<std::string, classes> names_;
    std::vector<file> files_;
    std::vector<buffer> buffers_;
    std::vector<std::uint64_t> results_;
};

} // namespace examples
