// Images in memory and in files: PPM without compression, JPEG by libjpeg.
#pragma once

#include "../common/random.hpp"

#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio> // before jpeglib.h, which needs it
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <jpeglib.h>

namespace examples {

struct image {
    std::size_t width = 0, height = 0;
    std::vector<unsigned char> bytes{}; // by rows; red, green and blue of each pixel

    unsigned char* row(std::size_t y) { return bytes.data() + y * width * 3; }
    const unsigned char* row(std::size_t y) const { return bytes.data() + y * width * 3; }
};

// Waves of colours, different for each seed, and a little noise.
inline image make_image(std::size_t width, std::size_t height, std::uint64_t seed) {
    image made{width, height, std::vector<unsigned char>(width * height * 3)};
    for (std::size_t colour = 0; colour < 3; ++colour) {
        const double across = 0.05 * random_from_minus_1_to_1(seed, colour * 2),
                     down = 0.05 * random_from_minus_1_to_1(seed, colour * 2 + 1);
        for (std::size_t y = 0; y < height; ++y) {
            for (std::size_t x = 0; x < width; ++x) {
                const std::size_t at = (y * width + x) * 3 + colour;
                const double wave = std::sin(across * static_cast<double>(x) + down * static_cast<double>(y));
                const double noise = random_from_minus_1_to_1(seed, at + 6);
                made.bytes[at] = static_cast<unsigned char>(128 + 100 * wave + 4 * noise);
            }
        }
    }
    return made;
}

// How far two images are from each other: the root of the mean square of their bytes' differences. Infinite
// if they are not of the same size.
inline double distance(const image& a, const image& b) {
    if (a.width != b.width || a.height != b.height) return HUGE_VAL;
    double sum = 0;
    for (std::size_t i = 0; i < a.bytes.size(); ++i) {
        const double d = static_cast<double>(a.bytes[i]) - static_cast<double>(b.bytes[i]);
        sum += d * d;
    }
    return std::sqrt(sum / static_cast<double>(a.bytes.size()));
}

// ---- files

inline std::runtime_error file_error(const char* what, const std::filesystem::path& file) {
    return std::runtime_error(std::string(what) + ": " + file.string());
}

inline std::vector<unsigned char> read_file(const std::filesystem::path& file) {
    std::vector<unsigned char> bytes(std::filesystem::file_size(file));
    std::ifstream in(file, std::ios::binary);
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!in) throw file_error("cannot be read", file);
    return bytes;
}

inline void write_file(const std::filesystem::path& file, const std::vector<unsigned char>& bytes) {
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) throw file_error("cannot be written", file);
}

inline void write_ppm(const std::filesystem::path& file, const image& from) {
    std::ofstream out(file, std::ios::binary);
    out << "P6\n" << from.width << ' ' << from.height << "\n255\n";
    out.write(reinterpret_cast<const char*>(from.bytes.data()),
              static_cast<std::streamsize>(from.bytes.size()));
    if (!out.flush()) throw file_error("cannot be written", file);
}

inline image read_ppm(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::string kind;
    image to;
    int largest = 0;
    in >> kind >> to.width >> to.height >> largest;
    if (!in || kind != "P6" || largest != 255) throw file_error("no PPM file of bytes", file);
    in.get();
    to.bytes.resize(to.width * to.height * 3);
    in.read(reinterpret_cast<char*>(to.bytes.data()), static_cast<std::streamsize>(to.bytes.size()));
    if (!in) throw file_error("too short", file);
    return to;
}

// A folder for files, which goes away with all that is in it.
class temporary_folder {
public:
    temporary_folder() : path_((std::filesystem::temp_directory_path() / "weft-XXXXXX").string()) {
        if (!mkdtemp(path_.data())) throw file_error("cannot be made", path_);
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    std::filesystem::path path() const { return path_; }

private:
    std::string path_;
};

// ---- JPEG

// libjpeg ends the process at an error unless its caller jumps out.
struct jpeg_errors : jpeg_error_mgr {
    std::jmp_buf out;
    char message[JMSG_LENGTH_MAX] = "";

    jpeg_errors() {
        jpeg_std_error(this);
        error_exit = [](j_common_ptr of) {
            auto* self = static_cast<jpeg_errors*>(of->err);
            self->format_message(of, self->message);
            std::longjmp(self->out, 1);
        };
        output_message = [](j_common_ptr) {};
    }

    // False after an error. What the steps make has nothing to destroy: a jump leaves it where it is.
    template <class Steps>
    bool survive(Steps&& steps) {
        if (setjmp(out) != 0) return false;
        steps();
        return true;
    }
};

inline std::vector<unsigned char> compress_jpeg(const image& from, int quality) {
    jpeg_errors errors;
    jpeg_compress_struct c{};
    c.err = &errors;
    unsigned char* made = nullptr;
    unsigned long size = 0;
    const bool done = errors.survive([&] {
        jpeg_create_compress(&c);
        jpeg_mem_dest(&c, &made, &size);
        c.image_width = static_cast<JDIMENSION>(from.width);
        c.image_height = static_cast<JDIMENSION>(from.height);
        c.input_components = 3;
        c.in_color_space = JCS_RGB;
        jpeg_set_defaults(&c);
        jpeg_set_quality(&c, quality, TRUE);
        jpeg_start_compress(&c, TRUE);
        while (c.next_scanline < c.image_height) {
            auto* row = const_cast<unsigned char*>(from.row(c.next_scanline));
            jpeg_write_scanlines(&c, &row, 1);
        }
        jpeg_finish_compress(&c);
    });
    jpeg_destroy_compress(&c);
    const std::unique_ptr<unsigned char, decltype(&std::free)> owner(made, &std::free);
    if (!done) throw std::runtime_error(std::string("libjpeg: ") + errors.message);
    return {made, made + size};
}

inline image decompress_jpeg(const std::vector<unsigned char>& from) {
    jpeg_errors errors;
    jpeg_decompress_struct d{};
    d.err = &errors;
    image to;
    const bool done = errors.survive([&] {
        jpeg_create_decompress(&d);
        jpeg_mem_src(&d, from.data(), from.size());
        jpeg_read_header(&d, TRUE);
        d.out_color_space = JCS_RGB;
        jpeg_start_decompress(&d);
        to.width = d.output_width;
        to.height = d.output_height;
        to.bytes.resize(to.width * to.height * 3);
        while (d.output_scanline < d.output_height) {
            unsigned char* row = to.row(d.output_scanline);
            jpeg_read_scanlines(&d, &row, 1);
        }
        jpeg_finish_decompress(&d);
    });
    jpeg_destroy_decompress(&d);
    if (!done) throw std::runtime_error(std::string("libjpeg: ") + errors.message);
    return to;
}

} // namespace examples
