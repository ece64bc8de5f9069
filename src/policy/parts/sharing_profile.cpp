#include "policy/parts/sharing_profile.hpp"

#include "machine/read_file.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

namespace weft {
namespace {

constexpr std::string_view first_line = "weft profile 1";

} // namespace

std::optional<std::vector<profiled_task>> read_profile(const std::string& file) {
    if (std::error_code failure; !std::filesystem::exists(file, failure)) return std::nullopt;
    std::istringstream in(read_file(file, "a profile", "a file that a run has written, or none yet"));
    std::vector<profiled_task> tasks;
    std::string line;
    const auto bad = [&] {
        return error("a profile is not understood", "'" + line + "' in '" + file + "'",
                     "'" + std::string(first_line) +
                         "', then lines of an id, the work, and FIRST-LAST of cache lines");
    };
    if (!std::getline(in, line) || line != first_line) throw bad();
    while (std::getline(in, line)) {
        std::istringstream words(line);
        profiled_task& t = tasks.emplace_back();
        if (!(words >> std::hex >> t.id >> std::dec >> t.work)) throw bad();
        line_range r;
        char dash = 0;
        while (words >> r.first) {
            if (!(words >> dash >> r.last) || dash != '-') throw bad();
            t.lines.push_back(r);
        }
        if (!words.eof()) throw bad();
    }
    return tasks;
}

profile_recorder::profile_recorder(std::string file)
    : file_(std::move(file))
    , records_(std::make_unique<record[]>(most_records)) {}

profile_recorder::~profile_recorder() {
    try {
        write();
    } catch (...) { std::fprintf(stderr, "weft: the profile '%s' was not written\n", file_.c_str()); }
}

void profile_recorder::keep(const task& t, const usage& used) noexcept {
    const std::size_t n = used_.add(1);
    if (n >= most_records) return;
    record& r = records_[n];
    r.id = t.id();
    r.work = used.self;
    std::size_t ranges = 0;
    const auto add = [&](std::uint64_t begin, std::uint64_t bytes) {
        if (bytes > 0 && ranges < record::most_ranges)
            r.lines[ranges++] = {begin / profile_line_bytes, (begin + bytes - 1) / profile_line_bytes + 1};
    };
    for (const data_access& use : t.uses()) add(use.datum, use.bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(t.hint().data_begin);
    const auto end = reinterpret_cast<std::uintptr_t>(t.hint().data_end);
    if (begin != 0 && end > begin) add(begin, end - begin);
}

void profile_recorder::write() const {
    std::map<std::uint64_t, const record*> by_id; // a task that ran again counts once
    for (std::size_t n = 0; n < std::min(used_.load_relaxed(), most_records); ++n)
        by_id.emplace(records_[n].id, &records_[n]);
    if (by_id.empty()) return;
    std::ofstream out(file_);
    out << first_line << '\n';
    for (const auto& [id, r] : by_id) {
        out << std::hex << id << std::dec << ' ' << r->work;
        for (const line_range& l : r->lines)
            if (l.first < l.last) out << ' ' << l.first << '-' << l.last;
        out << '\n';
    }
    out.close();
    if (!out) std::fprintf(stderr, "weft: the profile '%s' cannot be written\n", file_.c_str());
}

} // namespace weft
