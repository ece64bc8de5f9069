// Many images are read, compressed and written: a pipeline as a graph of tasks.
//
//   M. Tillenius, E. Larsson, R. M. Badia, X. Martorell: Resource-aware task scheduling. ACM TECS 2015.
//
// Tasks that read and write need the resource `file`. How many of them may run at once stands in a file of
// the machine, not here: a disk that turns likes one, others bear more.
#pragma once

#include "../common/cost.hpp"
#include "image.hpp"

#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace examples {

// A byte of a file that the system has in memory; a byte of a new file; a pixel (44 where libjpeg-turbo is
// told to do without vector instructions).
inline constexpr double read_cycles_per_byte = 0.17, write_cycles_per_byte = 1.3,
                        compress_cycles_per_pixel = 8.8;

// For an engine that models time.
struct jpeg_costs {
    std::string disk{}; // of the machine, where the files lie; empty: the system has them in memory
    double compress_cycles = compress_cycles_per_pixel;
};

inline constexpr int jpeg_quality = 90;

class jpeg_pipeline {
public:
    jpeg_pipeline(std::filesystem::path folder, std::size_t images, jpeg_costs costs)
        : folder_(std::move(folder))
        , costs_(std::move(costs))
        , works_(images) {}

    std::filesystem::path source(std::size_t i) const { return folder_ / (std::to_string(i) + ".ppm"); }
    std::filesystem::path result(std::size_t i) const { return folder_ / (std::to_string(i) + ".jpeg"); }

    // BEGIN-EXAMPLE jpeg
    // What is nearer to its end goes first, so that few images are in memory.
    void add_to(weft::graph& dag) {
        using weft::name, weft::needs, weft::priority, weft::readwrite;
        for (std::size_t i = 0; i < works_.size(); ++i) {
            work& w = works_[i];
            dag.add([this, i, &w] { read(source(i), w); }, readwrite(w), needs("file", 1), name("read"));
            dag.add([this, &w] { compress(w); }, readwrite(w), name("compress"), priority(1));
            dag.add([this, i, &w] { write(result(i), w); }, readwrite(w), needs("file", 1), name("write"),
                    priority(2));
        }
    }
    // END-EXAMPLE jpeg

    std::size_t bytes_written() const {
        std::size_t sum = 0;
        for (const work& w : works_) sum += w.bytes_written;
        return sum;
    }

private:
    struct work {
        image pixels;
        std::vector<unsigned char> compressed;
        std::size_t bytes_written = 0;
    };

    void read(const std::filesystem::path& from, work& w) const {
        w.pixels = read_ppm(from);
        pass_disk(w.pixels.bytes.size());
        weft::touch(w.pixels.bytes.data(), w.pixels.bytes.size(), weft::access::write);
        spend(w.pixels.bytes.size(), read_cycles_per_byte);
    }

    void compress(work& w) const {
        weft::touch(w.pixels.bytes.data(), w.pixels.bytes.size(), weft::access::read);
        spend(w.pixels.width * w.pixels.height, costs_.compress_cycles);
        w.compressed = compress_jpeg(w.pixels, jpeg_quality);
        weft::touch(w.compressed.data(), w.compressed.size(), weft::access::write);
        w.pixels = {};
    }

    void write(const std::filesystem::path& to, work& w) const {
        weft::touch(w.compressed.data(), w.compressed.size(), weft::access::read);
        spend(w.compressed.size(), write_cycles_per_byte);
        write_file(to, w.compressed);
        pass_disk(w.compressed.size());
        w.bytes_written = w.compressed.size();
        w.compressed = {};
    }

    void pass_disk(std::size_t bytes) const {
        if (!costs_.disk.empty()) weft::transfer(costs_.disk, bytes);
    }

    std::filesystem::path folder_;
    jpeg_costs costs_;
    std::vector<work> works_;
};

} // namespace examples
