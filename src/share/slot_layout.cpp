#include "share/slot_layout.hpp"

#include <fmt/format.h>

#include <cstring>
#include <iterator>

namespace weft::share {

namespace {

constexpr char slot_magic[8] = {'w', 'e', 'f', 't', 's', 'l', 't', '\n'};

enum : std::uint64_t { slot_is_empty, slot_runs, slot_is_over }; // the first word

struct field {
    const char* name;
    std::int64_t slot_numbers::* member;
    std::int64_t least, greatest;
};

// In the order of the words behind the first one.
constexpr field fields[] = {
    {"pid", &slot_numbers::pid, 1, most_pid},
    {"start", &slot_numbers::start, 0, most_count},
    {"published", &slot_numbers::published, 0, most_count},
    {"processor", &slot_numbers::processor, 0, most_count},
    {"tasks", &slot_numbers::tasks, 0, most_count},
    {"work", &slot_numbers::work, 0, most_count},
    {"bytes", &slot_numbers::bytes, 0, most_count},
    {"misses", &slot_numbers::misses, -1, most_count},
    {"workers", &slot_numbers::workers, 1, 4096},
    {"active", &slot_numbers::active, 0, 4096},
    {"busy", &slot_numbers::busy, 0, most_count},
};
static_assert(std::size(fields) + 1 == slot_words);

slot_reading damaged_slot(std::string why) { return {.state = reading::damaged, .why = std::move(why)}; }

} // namespace

const char* name_of(reading r) {
    constexpr const char* names[] = {"fresh", "stale", "over", "empty", "none", "torn", "damaged"};
    return names[static_cast<std::size_t>(r)];
}

head_of_file slot_head() noexcept {
    head_of_file head{};
    const std::uint32_t numbers[] = {layout_version, slot_bytes};
    std::memcpy(head.data(), slot_magic, sizeof slot_magic);
    std::memcpy(head.data() + sizeof slot_magic, numbers, sizeof numbers);
    return head;
}

std::array<std::uint64_t, slot_words> words_of(const slot_numbers& n) noexcept {
    std::array<std::uint64_t, slot_words> words{n.is_over ? slot_is_over : slot_runs};
    for (std::size_t i = 0; i < std::size(fields); ++i)
        words[i + 1] = static_cast<std::uint64_t>(n.*fields[i].member);
    return words;
}

slot_reading read_slot(std::span<const std::byte, word_file::head_bytes> head,
                       std::span<const std::uint64_t, slot_words> words, std::int64_t now,
                       std::int64_t timeout) {
    const head_of_file expected = slot_head();
    if (std::memcmp(head.data(), expected.data(), expected.size()) != 0)
        return damaged_slot(fmt::format("it has no head of version {}", layout_version));
    if (words[0] == slot_is_empty) return {.state = reading::empty, .why = "no runtime has the slot"};
    if (words[0] > slot_is_over) return damaged_slot(fmt::format("its state is {}", words[0]));
    slot_reading result;
    for (std::size_t i = 0; i < std::size(fields); ++i) {
        const field& f = fields[i];
        const auto value = static_cast<std::int64_t>(words[i + 1]);
        if (value < f.least || value > f.greatest)
            return damaged_slot(fmt::format("{} is {}, out of {}..{}", f.name, value, f.least, f.greatest));
        result.numbers.*f.member = value;
    }
    if (result.numbers.active > result.numbers.workers)
        return damaged_slot(
            fmt::format("{} of {} workers are active", result.numbers.active, result.numbers.workers));
    if (result.numbers.published > now)
        return damaged_slot(fmt::format("its time is {} ns in the future", result.numbers.published - now));
    result.numbers.is_over = words[0] == slot_is_over;
    const std::int64_t age = now - result.numbers.published;
    result.state = result.numbers.is_over ? reading::over : age > timeout ? reading::stale : reading::fresh;
    if (result.state == reading::over) result.why = "the runtime has ended";
    if (result.state == reading::stale) result.why = fmt::format("it was written {} ms ago", age / 1'000'000);
    return result;
}

} // namespace weft::share
