#include "share/slot_writer.hpp"

#include "share/process_clock.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace weft::share {

namespace {

struct place_of_slot {
    std::string directory;
    int slot = 0;
};

[[noreturn]] void refuse_slot(std::string_view what, std::string_view spec) {
    throw error(
        what, fmt::format("WEFT_SHARE={}", spec),
        "PATH:SLOT, the directory of a running `weft cosched` and a slot that it has prepared for this user");
}

place_of_slot parse_slot(std::string_view spec) {
    const auto colon = spec.rfind(':');
    place_of_slot place;
    const std::string_view number = colon == std::string_view::npos ? "" : spec.substr(colon + 1);
    const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), place.slot);
    if (failure != std::errc() || end != number.data() + number.size() || place.slot < 0 || colon == 0)
        refuse_slot("no slot of a table is named", spec);
    place.directory = spec.substr(0, colon);
    return place;
}

/// The daemon gives a program the value twice. Where the second one is missing or another one, a user has set WEFT_SHARE,
/// and what it names may never have been there: that is said, once a process, as a program may make many runtimes (F6).
std::optional<slot_writer> nothing_there(std::string_view spec, std::string_view what) {
    const char* const given = std::getenv(given_variable);
    if (given != nullptr && spec == given) return std::nullopt;
    [[maybe_unused]] static const int said = std::fprintf(
        stderr, "weft: WEFT_SHARE=%.*s is not used: %.*s. `weft cosched start` sets it for a program.\n",
        static_cast<int>(spec.size()), spec.data(), static_cast<int>(what.size()), what.data());
    return std::nullopt;
}

} // namespace

std::string slot_name(int slot) { return fmt::format("slot-{}", slot); }
std::string slot_lock_name(int slot) { return fmt::format("slot-{}.lock", slot); }

slot_writer::slot_writer(word_file lock, word_file slot, word_file table, int number,
                         const table_head& head) noexcept
    : lock_(std::move(lock))
    , slot_(std::move(slot))
    , table_(std::move(table))
    , number_(number)
    , head_(head)
    , pid_(getpid())
    , start_(start_ticks()) {}

std::optional<slot_writer> slot_writer::claim(std::string_view spec) {
    const place_of_slot place = parse_slot(spec);
    const word_file directory(open(place.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!directory.is_open() && errno == ENOENT) return nothing_there(spec, "there is no such directory");
    if (!directory.is_open())
        refuse_slot(fmt::format("the table of programs cannot be opened ({})", std::strerror(errno)), spec);
    table_head head;
    word_file table(openat(directory.file(), table_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!table.is_open() && errno == ENOENT)
        return nothing_there(spec, "no daemon has its table in that directory");
    std::string why = "it cannot be opened";
    head_of_file bytes{};
    if (table.is_open() && !table.read_head(bytes))
        why = "it is too short";
    else if (table.is_open() && read_head(bytes, head, why))
        why.clear();
    if (!why.empty()) refuse_slot(fmt::format("no table of programs: {}", why), spec);
    if (place.slot >= head.slots) refuse_slot(fmt::format("the table has {} slots", head.slots), spec);

    word_file lock(openat(directory.file(), slot_lock_name(place.slot).c_str(),
                          O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!lock.is_open() && errno == ENOENT) return nothing_there(spec, "no program has that slot");
    if (!lock.is_open()) refuse_slot(fmt::format("the slot cannot be used ({})", std::strerror(errno)), spec);
    if (flock(lock.file(), LOCK_EX | LOCK_NB) != 0) return std::nullopt; // F4
    opened slot = open_words(directory.file(), slot_name(place.slot).c_str(), true, slot_bytes);
    if (!slot.file.is_open())
        return nothing_there(spec, fmt::format("the slot cannot be used: {}", slot.why));
    slot_writer made(std::move(lock), std::move(slot.file), std::move(table), place.slot, head);
    made.words_.resize(table_words(head.slots));
    return made;
}

void slot_writer::publish(slot_numbers n) noexcept {
    n.pid = pid_;
    n.start = start_;
    n.published = monotonic_ns();
    file_lock::write(slot_, words_of(n));
}

int slot_writer::wish() noexcept {
    try {
        if (file_lock::read(table_, words_, most_tries) != copied::whole) return 0;
        const std::int64_t now = monotonic_ns();
        const table_reading seen = read_table(words_, head_.slots, now);
        if (seen.state != reading::fresh) return 0;
        if (now - seen.numbers.published > 10 * head_.period + 1'000'000'000) return 0; // F5
        for (const table_program& p : seen.numbers.programs)
            if (p.slot == number_) return p.active;
    } catch (const std::bad_alloc&) {} // as if nothing were wished
    return 0;
}

} // namespace weft::share
