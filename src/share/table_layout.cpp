#include "share/table_layout.hpp"

#include "share/decision.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

namespace weft::share {

namespace {

constexpr char table_magic[8] = {'w', 'e', 'f', 't', 's', 'h', 'r', '\n'};
constexpr std::size_t name_bytes = 32;

enum : std::size_t { generation_at, decided_at, published_at, daemon_at, by_at, count_at, first_program = 8 };
enum : std::size_t {
    slot_at,
    pid_at,
    start_at,
    rate_at,
    source_at,
    load_at,
    domain_at,
    active_at,
    name_at,
    program_words = 16
};
static_assert(name_at * 8 + name_bytes <= program_words * 8);

struct bounded {
    const char* name;
    std::size_t at;
    std::int64_t least, greatest;
};

// Words of the table, then of each program; `domain` is stored as its number, -1 as all ones.
constexpr bounded of_table[] = {
    {"decided", decided_at, 0, most_count},
    {"published", published_at, 0, most_count},
    {"daemon", daemon_at, 0, most_pid},
    {"scheduler", by_at, 0, std::ssize(scheduler_names) - 1},
    {"the number of programs", count_at, 0, most_programs},
};
constexpr bounded of_program[] = {
    {"slot", slot_at, 0, most_programs - 1},
    {"pid", pid_at, 0, most_pid},
    {"start", start_at, 0, most_count},
    {"rate", rate_at, 0, most_rate},
    {"source", source_at, 0, std::ssize(source_names) - 1},
    {"load", load_at, 0, 1000},
    {"domain", domain_at, -1, most_domains - 1},
    {"active", active_at, 0, 4096},
};

std::int64_t as_signed(std::uint64_t word) noexcept { return static_cast<std::int64_t>(word); }
std::uint64_t as_word(std::int64_t value) noexcept { return static_cast<std::uint64_t>(value); }

/// What is out of its range among the words; empty: nothing.
std::string out_of_range(std::span<const bounded> fields, std::span<const std::uint64_t> words) {
    for (const bounded& b : fields)
        if (const std::int64_t value = as_signed(words[b.at]); value < b.least || value > b.greatest)
            return fmt::format("{} is {}, out of {}..{}", b.name, value, b.least, b.greatest);
    return {};
}

/// The whole table, whatever its words are.
std::string out_of_range(std::span<const std::uint64_t> words, int slots) {
    if (std::string why = out_of_range(of_table, words); !why.empty()) return why;
    const auto count = static_cast<std::size_t>(words[count_at]);
    if (count > static_cast<std::size_t>(slots))
        return fmt::format("the number of programs is {}, out of 0..{}", count, slots);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const auto its = words.subspan(first_program + i * program_words, program_words);
        if (std::string why = out_of_range(of_program, its); !why.empty())
            return fmt::format("program {}: {}", i, why);
        if (its[slot_at] >= static_cast<std::uint64_t>(slots) || (seen >> its[slot_at]) % 2 == 1)
            return fmt::format("program {}: slot {} is not there or twice", i, its[slot_at]);
        seen |= std::uint64_t{1} << its[slot_at];
    }
    return {};
}

void put(std::span<std::uint64_t> words, const table_program& p) {
    words[slot_at] = as_word(p.slot);
    words[pid_at] = as_word(p.pid);
    words[start_at] = as_word(p.start);
    words[rate_at] = as_word(p.rate);
    words[source_at] = static_cast<std::uint64_t>(p.source);
    words[load_at] = as_word(p.load);
    words[domain_at] = as_word(p.domain);
    words[active_at] = as_word(p.active);
    std::memcpy(&words[name_at], p.name.data(), std::min(p.name.size(), name_bytes - 1));
}

/// Words that are in their ranges.
table_program get(std::span<const std::uint64_t> words) {
    table_program p;
    p.slot = static_cast<int>(words[slot_at]);
    p.pid = as_signed(words[pid_at]);
    p.start = as_signed(words[start_at]);
    p.rate = as_signed(words[rate_at]);
    p.source = static_cast<rate_source>(words[source_at]);
    p.load = static_cast<int>(words[load_at]);
    p.domain = static_cast<int>(as_signed(words[domain_at]));
    p.active = static_cast<int>(words[active_at]);
    std::array<char, name_bytes> name{};
    std::memcpy(name.data(), &words[name_at], name.size());
    p.name.assign(name.data(), strnlen(name.data(), name.size() - 1));
    return p;
}

} // namespace

rate_source source_of(std::string_view name) {
    const auto found = std::find(std::begin(source_names), std::end(source_names), name);
    if (found == std::end(source_names))
        throw error("no such source of a rate", name, fmt::format("{}", fmt::join(source_names, ", ")));
    return static_cast<rate_source>(found - std::begin(source_names));
}

std::size_t table_words(int slots) noexcept {
    return first_program + program_words * static_cast<std::size_t>(slots);
}

std::size_t table_bytes(int slots) noexcept { return word_file::head_bytes + 8 + 8 * table_words(slots); }

head_of_file head_of(const table_head& of) noexcept {
    head_of_file head{};
    const std::uint32_t numbers[] = {layout_version, static_cast<std::uint32_t>(of.slots)};
    std::memcpy(head.data(), table_magic, sizeof table_magic);
    std::memcpy(head.data() + sizeof table_magic, numbers, sizeof numbers);
    std::memcpy(head.data() + sizeof table_magic + sizeof numbers, &of.period, sizeof of.period);
    return head;
}

bool read_head(std::span<const std::byte, word_file::head_bytes> bytes, table_head& head, std::string& why) {
    std::uint32_t numbers[2]{};
    std::memcpy(numbers, bytes.data() + sizeof table_magic, sizeof numbers);
    std::int64_t period = 0;
    std::memcpy(&period, bytes.data() + sizeof table_magic + sizeof numbers, sizeof period);
    if (std::memcmp(bytes.data(), table_magic, sizeof table_magic) != 0)
        why = "it is no table of programs";
    else if (numbers[0] != layout_version)
        why = fmt::format("it is of version {} and not {}", numbers[0], layout_version);
    else if (numbers[1] < 1 || numbers[1] > most_programs)
        why = fmt::format("it has {} slots and not 1..{}", numbers[1], most_programs);
    else if (period < least_period || period > greatest_period)
        why = fmt::format("its period is {} ns and not {}..{}", period, least_period, greatest_period);
    else {
        head = {.slots = static_cast<int>(numbers[1]), .period = period};
        return true;
    }
    return false;
}

std::vector<std::uint64_t> words_of(const table_numbers& n, int slots) {
    std::vector<std::uint64_t> words(table_words(slots), 0);
    if (n.programs.size() > static_cast<std::size_t>(slots))
        throw error("too many programs for the table", std::to_string(n.programs.size()),
                    fmt::format("0..{}", slots));
    words[generation_at] = n.generation;
    words[decided_at] = as_word(n.decided);
    words[published_at] = as_word(n.published);
    words[daemon_at] = as_word(n.daemon);
    words[by_at] = as_word(n.by);
    words[count_at] = n.programs.size();
    for (std::size_t i = 0; i < n.programs.size(); ++i)
        put(std::span(words).subspan(first_program + i * program_words, program_words), n.programs[i]);
    if (const std::string why = out_of_range(words, slots); !why.empty())
        throw error("the table cannot hold this", why,
                    "numbers in their ranges, each slot once: docs/share-table.md");
    return words;
}

table_reading read_table(std::span<const std::uint64_t> words, int slots, std::int64_t now) {
    table_reading result;
    result.why = out_of_range(words, slots);
    if (!result.why.empty()) return result;
    table_numbers& n = result.numbers;
    n.generation = words[generation_at];
    n.decided = as_signed(words[decided_at]);
    n.published = as_signed(words[published_at]);
    n.daemon = as_signed(words[daemon_at]);
    n.by = static_cast<int>(words[by_at]);
    for (std::size_t i = 0; i < static_cast<std::size_t>(words[count_at]); ++i)
        n.programs.push_back(get(words.subspan(first_program + i * program_words, program_words)));
    if (n.published > now) {
        result.why = fmt::format("its time is {} ns in the future", n.published - now);
        return result;
    }
    result.state = reading::fresh;
    return result;
}

} // namespace weft::share
