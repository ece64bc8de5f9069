#include "engine/observe/report_file.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <utility>

namespace weft::engine {

report_file::report_file(std::string path) : path_(std::move(path)) {
    if (path_ != "-" && !std::ofstream(path_))
        throw error("the report cannot be written", "WEFT_REPORT=" + path_,
                    "a file that can be created, or - for standard error");
}

void report_file::add(std::string report) {
    const std::lock_guard guard(adding_);
    ++ended_;
    if (runs_.size() == most_kept) runs_.pop_back();
    runs_.push_back(std::move(report));
}

std::string report_file::text() const {
    if (wants_json()) {
        std::string all = "{\"runs\": [";
        for (std::size_t i = 0; i < runs_.size(); ++i) all += (i > 0 ? ",\n" : "\n") + runs_[i];
        return all + fmt::format("\n], \"runs_ended\": {}}}\n", ended_);
    }
    std::string all;
    for (std::size_t i = 0; i < runs_.size(); ++i)
        all += fmt::format("-- run {} of {}\n{}", i + 1 == runs_.size() ? ended_ : i + 1, ended_, runs_[i]);
    return all;
}

void report_file::write() noexcept {
    const std::lock_guard guard(adding_);
    if (written_ == ended_) return;
    written_ = ended_;
    if (path_ == "-") {
        std::fputs(text().c_str(), stderr);
        return;
    }
    std::ofstream out(path_);
    if (!(out << text()).flush())
        std::fprintf(stderr, "weft: the report %s could not be written\n", path_.c_str());
}

} // namespace weft::engine
