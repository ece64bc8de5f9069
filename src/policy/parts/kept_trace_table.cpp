#include "policy/parts/kept_trace_table.hpp"

#include "machine/read_file.hpp"
#include "policy/parts/elastic_places.hpp"
#include "task/task_class.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view format_line = "weft trace table 1";

struct measured {
    std::uint64_t type;
    elastic_place at;
    time_ns took;
};
/// What workers have measured, under the line that names them.
struct part {
    std::string of;
    std::vector<measured> rows;
};

std::string name_of(const machine& m, const policy_context& context) {
    std::string line = fmt::format("of {} workers, speeds", context.all().size());
    for (worker_id w = 0; w < context.all().size(); ++w)
        line += fmt::format(" {}", m.speed_of(context.core_of(w)));
    line += fmt::format(", on {}{}", m.is_modelled() ? "modelled " : "", m.name());
    for (char& c : line)
        if (c == '\n' || c == '\r') c = ' ';
    return line;
}

/// Empty if there is no such file.
std::vector<part> read(const std::string& file) {
    if (std::error_code failure; !fs::exists(file, failure)) return {};
    std::istringstream in(read_file(file, "a trace table", "a file that a run has written, or none yet"));
    std::string line;
    const auto bad = [&] {
        return error("a trace table is not understood", fmt::format("'{}' in '{}'", line, file),
                     fmt::format("'{}', then lines 'of ...' that name workers, each before lines of a type, "
                                 "a leader, a width, "
                                 "which is a power of two up to {}, and a time above 0",
                                 format_line, max_width));
    };
    if (!std::getline(in, line) || line != format_line) throw bad();
    std::vector<part> parts;
    while (std::getline(in, line)) {
        if (line.starts_with("of ")) {
            parts.push_back({line, {}});
            continue;
        }
        std::istringstream words(line);
        measured r{};
        std::string more;
        if (parts.empty() ||
            !(words >> std::hex >> r.type >> std::dec >> r.at.leader >> r.at.width >> r.took) ||
            words >> more)
            throw bad();
        const bool is_place = r.at.leader >= 0 && r.at.width >= 1 && r.at.width <= max_width &&
                              std::has_single_bit(static_cast<unsigned>(r.at.width));
        if (r.type == 0 || !is_place || r.took < 1) throw bad();
        parts.back().rows.push_back(r);
    }
    return parts;
}

part& part_of(std::vector<part>& parts, const std::string& of) {
    for (part& p : parts)
        if (p.of == of) return p;
    return parts.emplace_back(part{of, {}});
}

} // namespace

kept_trace_table::kept_trace_table(std::string file, const machine& m, const policy_context& context,
                                   performance_trace_table& table)
    : file_(std::move(file))
    , of_(name_of(m, context))
    , workers_(context.all().size())
    , table_(table) {
    auto parts = read(file_);
    for (const measured& r : part_of(parts, of_).rows) {
        if (r.at.leader + r.at.width > workers_)
            throw error(
                "a trace table has a place of other workers",
                fmt::format("leader {}, width {}, in '{}' under '{}'", r.at.leader, r.at.width, file_, of_),
                fmt::format("the workers 0 to {}", workers_ - 1));
        const int type = table_.type_of(r.type);
        if (type == performance_trace_table::no_type) continue;
        table_.set(type, r.at, r.took);
        lasting_[static_cast<std::size_t>(type)].store_relaxed(true);
    }
}

kept_trace_table::~kept_trace_table() {
    if (!has_come_.load_relaxed()) return;
    try {
        write();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "weft: the trace table '%s' was not written: %s\n", file_.c_str(), e.what());
    }
}

void kept_trace_table::comes(int type, const task& t) noexcept {
    if (type == performance_trace_table::no_type || !has_lasting_class(t.hint())) return;
    for (queue::cell<bool>* const mark : {&lasting_[static_cast<std::size_t>(type)], &has_come_})
        if (!mark->load_relaxed()) mark->store_relaxed(true);
}

void kept_trace_table::write() const {
    auto parts = read(file_); // other instances may have written meanwhile
    part& own = part_of(parts, of_);
    own.rows.clear();
    table_.for_each([&](int type, elastic_place at, time_ns took) {
        if (lasting_[static_cast<std::size_t>(type)].load_relaxed())
            own.rows.push_back({table_.key_of(type), at, took});
    });
    const fs::path draft = fmt::format("{}.{}", file_, getpid()); // a reader sees the old file or the new one
    {
        std::ofstream out(draft, std::ios::binary);
        out << format_line << '\n';
        for (const part& p : parts) {
            out << p.of << '\n';
            for (const measured& r : p.rows)
                out << fmt::format("{:x} {} {} {}\n", r.type, r.at.leader, r.at.width, r.took);
        }
        out.close();
        if (!out) {
            std::error_code ignored;
            fs::remove(draft, ignored);
            throw error("it cannot be written", draft.string(),
                        "a file in a folder where this process may make files");
        }
    }
    fs::rename(draft, file_);
}

} // namespace weft
