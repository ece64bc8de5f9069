#include "share/table.hpp"

#include "share/process_clock.hpp"
#include "share/slot_writer.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::share {

namespace {

constexpr char what_a_table_is[] = "the directory of a table of programs, of this version of Weft";

[[noreturn]] void refuse_table(std::string_view what, const std::string& path, std::string_view allowed) {
    throw error(what, path, allowed);
}

int open_directory(const std::string& path) {
    return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/// Opens the daemon's file and reads its head. Empty: the file is as it should be.
std::string open_table(int directory, bool writable, word_file& file, table_head& head) {
    word_file found(
        openat(directory, table_name, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!found.is_open()) return failure_text("there is no table");
    head_of_file bytes{};
    if (!found.read_head(bytes)) return "the table is too short";
    if (std::string why; !read_head(bytes, head, why)) return why;
    struct stat is{};
    if (fstat(found.file(), &is) != 0 || !S_ISREG(is.st_mode) ||
        is.st_size != static_cast<off_t>(table_bytes(head.slots)))
        return fmt::format("the table has {} bytes and not {}", is.st_size, table_bytes(head.slots));
    file = std::move(found);
    return {};
}

} // namespace

table::table(std::string path, word_file directory) noexcept
    : path_(std::move(path))
    , directory_(std::move(directory)) {}

table table::create(const std::string& path, int slots, std::int64_t period) {
    if (slots < 1 || slots > most_programs)
        refuse_table("the number of slots is out of range", std::to_string(slots),
                     fmt::format("1..{}", most_programs));
    if (period < least_period || period > greatest_period)
        refuse_table("the period is out of range", fmt::format("{} ns", period),
                     fmt::format("{}..{}", least_period, greatest_period));
    const bool is_new = mkdir(path.c_str(), 0755) == 0;
    if (!is_new && errno != EEXIST)
        refuse_table(failure_text("the directory of the table cannot be made"), path,
                     "a path in /dev/shm, for example");
    table made(path, word_file(open_directory(path)));
    struct stat is{};
    if (!made.directory_.is_open() || fstat(made.directory_.file(), &is) != 0)
        refuse_table(failure_text("the directory of the table cannot be opened"), path,
                     "a directory, and no link to one");
    if (is.st_uid != geteuid() || (!is_new && (is.st_mode & 022) != 0))
        refuse_table("others may write the directory of the table", path,
                     "a directory of this user, of mode 0755");
    fchmod(made.directory_.file(), 0755); // whatever the umask is
    made.lock();
    if (std::string why = open_table(made.directory_.file(), true, made.file_, made.head_); why.empty()) {
        made.is_adopted_ = true;
        if (const table_reading last = made.read(); last.state == reading::fresh)
            made.generation_ = last.numbers.generation;
    } else {
        made.make(slots, period);
    }
    return made;
}

void table::lock() {
    // Of mode 0600: a user that may only read the table cannot keep a daemon out by a lock.
    lock_ = word_file(
        openat(directory_.file(), daemon_lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock_.is_open())
        refuse_table(failure_text("the table cannot be locked"), path_, "a directory of this user");
    if (flock(lock_.file(), LOCK_EX | LOCK_NB) != 0)
        refuse_table("another daemon has the table", path_, "one daemon for each table");
}

void table::make(int slots, std::int64_t period) {
    remove_slots();
    make_words(directory_.file(), table_name, head_of({.slots = slots, .period = period}), table_bytes(slots),
               geteuid(), path_);
    if (const std::string why = open_table(directory_.file(), true, file_, head_); !why.empty())
        refuse_table(why, path_, what_a_table_is);
}

table table::open(const std::string& path) {
    table made(path, word_file(open_directory(path)));
    if (!made.directory_.is_open())
        refuse_table(failure_text("no table of programs can be opened"), path, what_a_table_is);
    if (const std::string why = open_table(made.directory_.file(), false, made.file_, made.head_);
        !why.empty())
        refuse_table(fmt::format("no table of programs: {}", why), path, what_a_table_is);
    return made;
}

void table::check_slot(int slot) const {
    if (!directory_.is_open()) refuse_table("the table is closed", path_, "an open one");
    if (slot < 0 || slot >= head_.slots)
        refuse_table("there is no such slot", std::to_string(slot), fmt::format("0..{}", head_.slots - 1));
}

void table::check_daemon() const {
    if (!lock_.is_open())
        refuse_table("only the daemon may change the table", path_, "a table that create() has made");
}

std::string table::prepare(int slot, uid_t user) {
    check_slot(slot);
    check_daemon();
    release(slot);
    const std::string lock_name = slot_lock_name(slot);
    const word_file file(openat(directory_.file(), lock_name.c_str(),
                                O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open() || (user != geteuid() && fchown(file.file(), user, static_cast<gid_t>(-1)) != 0))
        refuse_table(failure_text("the slot's lock cannot be made"), name_of_file(lock_name),
                     "this user's own programs; those of others if this is root");
    make_words(directory_.file(), slot_name(slot), slot_head(), slot_bytes, user,
               name_of_file(slot_name(slot)));
    return fmt::format("{}:{}", path_, slot);
}

void table::release(int slot) {
    check_slot(slot);
    check_daemon();
    unlinkat(directory_.file(), slot_name(slot).c_str(), 0);
    unlinkat(directory_.file(), slot_lock_name(slot).c_str(), 0);
}

bool table::publish(table_numbers n) {
    check_slot(0);
    check_daemon();
    n.daemon = getpid();
    n.published = monotonic_ns();
    const std::vector<std::uint64_t> words = words_of(n, head_.slots);
    if (n.generation < generation_) return false;
    file_lock::write(file_, words);
    generation_ = n.generation;
    return true;
}

table_reading table::read() {
    check_slot(0);
    std::vector<std::uint64_t> words(table_words(head_.slots));
    switch (file_lock::read(file_, words, most_tries)) {
    case copied::whole: return read_table(words, head_.slots, monotonic_ns());
    case copied::torn:
        return {.state = reading::torn, .why = "a daemon writes, or was killed while it wrote"};
    case copied::cut: break;
    }
    return {.state = reading::damaged, .why = "the table was cut"};
}

slot_reading table::read(int slot, std::int64_t now, std::int64_t timeout) {
    check_slot(slot);
    opened found = open_words(directory_.file(), slot_name(slot).c_str(), false, slot_bytes);
    if (!found.file.is_open())
        return {.state = found.is_missing ? reading::none : reading::damaged, .why = found.why};
    head_of_file head{};
    std::array<std::uint64_t, slot_words> words{};
    if (!found.file.read_head(head)) return {.state = reading::damaged, .why = "it was cut"};
    switch (file_lock::read(found.file, words, most_tries)) {
    // The program may have published after the caller had looked at the clock.
    case copied::whole: return read_slot(head, words, std::max(now, monotonic_ns()), timeout);
    case copied::torn:
        return {.state = reading::torn, .why = "the program writes, or was killed while it wrote"};
    case copied::cut: break;
    }
    return {.state = reading::damaged, .why = "it was cut"};
}

void table::remove_slots() noexcept {
    for (int slot = 0; slot < most_programs; ++slot) {
        unlinkat(directory_.file(), slot_name(slot).c_str(), 0);
        unlinkat(directory_.file(), slot_lock_name(slot).c_str(), 0);
        unlinkat(directory_.file(), (slot_name(slot) + ".new").c_str(), 0);
    }
}

void table::remove() {
    check_slot(0);
    check_daemon();
    remove_slots();
    for (const char* name : {table_name, daemon_lock_name}) unlinkat(directory_.file(), name, 0);
    unlinkat(directory_.file(), (std::string(table_name) + ".new").c_str(), 0);
    rmdir(path_.c_str());
    close();
}

void table::close() noexcept {
    directory_ = word_file();
    lock_ = word_file();
    file_ = word_file();
}

} // namespace weft::share
