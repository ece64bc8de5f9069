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

void report_file::add(std::function<std::string()> describe) {
    const std::lock_guard guard(adding_);
    ++ended_;
    if (runs_.size() == most_kept) runs_.pop_back();
    runs_.push_back(std::move(describe));
}

std::string report_file::text(const std::string& of_all_runs) const {
    if (wants_json()) {
        std::string all = "{\"runs\": [";
        for (std::size_t i = 0; i < runs_.size(); ++i) all += (i > 0 ? ",\n" : "\n") + runs_[i]();
        all += fmt::format("\n], \"runs_ended\": {}", ended_);
        if (!of_all_runs.empty()) all += ",\n\"total\": " + of_all_runs;
        return all + "}\n";
    }
    std::string all;
    for (std::size_t i = 0; i < runs_.size(); ++i)
        all += fmt::format("-- run {} of {}\n{}", i + 1 == runs_.size() ? ended_ : i + 1, ended_, runs_[i]());
    if (!of_all_runs.empty()) all += "-- all runs\n" + of_all_runs;
    return all;
}

void report_file::write(const std::string& of_all_runs) noexcept {
    const std::lock_guard guard(adding_);
    if (written_ == ended_) return;
    written_ = ended_;
    if (path_ == "-") {
        std::fputs(text(of_all_runs).c_str(), stderr);
        return;
    }
    std::ofstream out(path_);
    if (!(out << text(of_all_runs)).flush())
        std::fprintf(stderr, "weft: the report %s could not be written\n", path_.c_str());
}

} // namespace weft::engine
