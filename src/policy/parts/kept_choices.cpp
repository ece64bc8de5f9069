#include "policy/parts/kept_choices.hpp"

#include "policy/parts/code_place.hpp"

#include "machine/read_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* choices_format = "weft choices 1";
constexpr const char* suffix = ".choices";

std::string on_one_line(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ') c = ' ';
    return text;
}

std::uint64_t hash_of(const std::string& text) {
    std::uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

bool read_candidate(std::istream& in, candidate_record& c) {
    std::string word;
    return static_cast<bool>(in >> word >> c.count >> c.is_open >> c.mean >> c.squares) && word == "-" &&
           std::isfinite(c.mean) && std::isfinite(c.squares) && c.squares >= 0;
}

bool read_place(std::istream& in, std::size_t candidates, kept_place& p) {
    place_record& r = p.record;
    if (!(in >> p.name >> r.runs >> r.compared >> r.total >> r.excess >> r.before >> r.trial >> r.rest >>
          r.decided_at >> r.level >> r.decided_level >> r.best >> r.tried >> r.last >> r.is_warm))
        return false;
    for (std::size_t c = 0; c < candidates; ++c)
        if (!read_candidate(in, r.of[c])) return false;
    return r.total >= 0 && r.excess >= 0 && r.before >= 0 && r.trial >= 0 && r.best < candidates &&
           r.tried < candidates &&
           (r.last < candidates || r.last == place_record::no_run || r.last == place_record::any_run) &&
           (r.trial == 0 || r.tried != r.best) && std::isfinite(r.level) && std::isfinite(r.decided_level);
}

void remove_oldest(const fs::path& folder) {
    std::vector<std::pair<fs::file_time_type, fs::path>> files;
    std::error_code failure;
    for (const auto& entry : fs::directory_iterator(folder, failure)) {
        if (entry.path().extension() != suffix) continue;
        if (const auto at = entry.last_write_time(failure); !failure) files.emplace_back(at, entry.path());
    }
    if (files.size() <= kept_choices::most_files) return;
    std::ranges::sort(files);
    for (std::size_t i = 0; i < files.size() - kept_choices::most_files; ++i)
        fs::remove(files[i].second, failure);
}

} // namespace

fs::path folder_of_choices() {
    const auto value = [](const char* name) {
        const char* const v = std::getenv(name);
        return std::string(v != nullptr ? v : "");
    };
    if (const std::string given = value("WEFT_AUTO_MEMORY"); !given.empty())
        return given == "off" ? fs::path() : fs::path(given);
    if (const std::string cache = value("XDG_CACHE_HOME"); cache.starts_with('/'))
        return fs::path(cache) / "weft" / "auto";
    if (const std::string home = value("HOME"); home.starts_with('/'))
        return fs::path(home) / ".cache" / "weft" / "auto";
    return {};
}

kept_choices::kept_choices(fs::path where, const machine& m, const policy_context& context,
                           const std::vector<std::string>& candidates)
    : candidates_(fmt::format("candidates {}", fmt::join(candidates, " ")))
    , count_(candidates.size()) {
    const std::string program = identity_of_program();
    if (program.empty() || where.empty()) return;
    about_ = fmt::format("of {}, {} workers, speeds", program, context.all().size());
    for (worker_id w = 0; w < context.all().size(); ++w)
        about_ += fmt::format(" {}", m.speed_of(context.core_of(w)));
    about_ = on_one_line(about_ + fmt::format(", on {}{}", m.is_modelled() ? "modelled " : "", m.name()));
    file_ = std::move(where) / fmt::format("{:016x}{}", hash_of(about_ + candidates_), suffix);
}

std::vector<kept_place> kept_choices::read() {
    std::error_code failure;
    if (file_.empty() || !fs::exists(file_, failure)) return {};
    const auto useless = [&](std::string why) {
        problem_ = std::move(why);
        return std::vector<kept_place>{};
    };
    if (!fs::is_regular_file(file_, failure)) return useless("it is not a file");
    try {
        std::istringstream in(read_file(file_, "choices", "a file that an earlier process has written"));
        std::string line;
        if (!std::getline(in, line) || line != choices_format)
            return useless(fmt::format("its first line is not '{}'", choices_format));
        if (!std::getline(in, line) || line != about_)
            return useless("it is about another program or machine");
        if (!std::getline(in, line) || line != candidates_) return useless("it has other candidates");
        std::vector<kept_place> places;
        for (std::string word; in >> word;) {
            if (word == "end") return places;
            if (word != "place" || !read_place(in, count_, places.emplace_back()))
                return useless(
                    fmt::format("place {} of it is damaged", std::max<std::size_t>(places.size(), 1)));
        }
        return useless("it has no end");
    } catch (const std::exception& e) { return useless(e.what()); }
}

std::string kept_choices::write(const std::vector<kept_place>& places) const {
    if (file_.empty()) return {};
    try {
        fs::create_directories(file_.parent_path());
        const fs::path draft = fmt::format("{}.{}", file_.string(), getpid());
        std::ofstream out(draft, std::ios::binary);
        out << choices_format << '\n' << about_ << '\n' << candidates_ << '\n';
        for (const auto& [name, r] : places) {
            out << fmt::format("place {} {} {} {} {} {} {} {} {} {} {} {} {} {} {:d}\n", name, r.runs,
                               r.compared, r.total, r.excess, r.before, r.trial, r.rest, r.decided_at,
                               r.level, r.decided_level, r.best, r.tried, r.last, r.is_warm);
            for (std::size_t c = 0; c < count_; ++c)
                out << fmt::format("- {} {:d} {} {}\n", r.of[c].count, r.of[c].is_open, r.of[c].mean,
                                   r.of[c].squares);
        }
        out << "end\n";
        out.close();
        if (!out) {
            std::error_code ignored;
            fs::remove(draft, ignored);
            return draft.string() + " cannot be written";
        }
        fs::rename(draft, file_);
        remove_oldest(file_.parent_path());
    } catch (const std::exception& e) { return e.what(); }
    return {};
}

} // namespace weft
