#include "share/lending_board.hpp"

#include "share/placements.hpp"
#include "share/process_clock.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <string_view>
#include <tuple>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::share {

namespace {

constexpr std::string_view unfinished = ".new"; // as make_words() names a file that is not whole yet
constexpr std::int64_t awake_on_it = -1;        // in lent_core::lender, of this file only

/// The process of this program that is on a board; 0: none. A number and not a flag: the child of a fork() is on none.
constinit std::atomic<pid_t> joined{0};

[[noreturn]] void refuse_board(std::string_view what, const std::string& path, std::string_view allowed) {
    throw error(what, path, allowed);
}

std::string name_of_program() {
    char name[17] = {};
    const word_file comm(open("/proc/self/comm", O_RDONLY | O_CLOEXEC));
    const ssize_t length = comm.is_open() ? ::read(comm.file(), name, sizeof name - 1) : 0;
    const std::string_view text(name, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    return std::string(text.substr(0, text.find('\n')));
}

struct identity {
    std::int64_t pid = 0, start = 0;
};

/// False: the file is none of this room.
bool parse_name(std::string_view name, identity& whose) {
    const auto number = [&](std::int64_t& value, std::int64_t greatest) {
        const auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), value);
        name.remove_prefix(static_cast<std::size_t>(end - name.data()));
        return bad == std::errc{} && value >= 0 && value <= greatest;
    };
    if (!number(whose.pid, most_pid) || !name.starts_with('-')) return false;
    name.remove_prefix(1);
    return number(whose.start, most_count) && whose.pid > 0 && (name.empty() || name == unfinished);
}

/// The process, if it lives. It is opened before its start is read: the number may be another process's by now (Z4).
word_file process_of(const identity& whose) {
    word_file process(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(whose.pid), 0)));
    return start_ticks_of(whose.pid) == whose.start ? std::move(process) : word_file();
}

bool is_gone(const identity& whose) noexcept {
    const std::int64_t start = start_ticks_of(whose.pid);
    return start != 0 ? start != whose.start : kill(static_cast<pid_t>(whose.pid), 0) != 0 && errno == ESRCH;
}

bool has_ended(const word_file& process) noexcept {
    pollfd at{.fd = process.file(), .events = POLLIN, .revents = 0};
    return poll(&at, 1, 0) != 0;
}

word_file open_board(const std::string& path) {
    word_file directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    struct stat is{};
    if (!directory.is_open() || fstat(directory.file(), &is) != 0)
        refuse_board(failure_text("the directory of programs that lend cores cannot be opened"), path,
                     "a directory, and no link to one");
    if (is.st_uid != geteuid() || (is.st_mode & 077) != 0)
        refuse_board("others may use the directory of programs that lend cores", path,
                     "a directory of this user, of mode 0700");
    return directory;
}

std::int64_t ns_of(const timespec& t) noexcept { return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec; }

} // namespace

std::string lending_board::usual_directory() { return fmt::format("/dev/shm/weft-lend-{}", geteuid()); }

// relaxed: threads of one process that make runtimes at the same time are told apart by the exchange in join()
bool lending_board::is_joined() noexcept { return joined.load(std::memory_order_relaxed) == getpid(); }

lending_board::lending_board(std::string path, word_file directory) noexcept
    : path_(std::move(path))
    , directory_(std::move(directory)) {}

lending_board::lending_board(lending_board&& from) noexcept
    : path_(std::move(from.path_))
    , directory_(std::move(from.directory_))
    , file_(std::move(from.file_))
    , name_(std::exchange(from.name_, {}))
    , head_(std::move(from.head_))
    , peers_(std::move(from.peers_))
    , listed_(from.listed_)
    , cores_(std::move(from.cores_)) {}

std::optional<lending_board> lending_board::join(const std::string& directory, int workers, int guests) {
    pid_t other = joined.load(std::memory_order_relaxed);
    if (other == getpid() || !joined.compare_exchange_strong(other, getpid(), std::memory_order_relaxed))
        return std::nullopt;
    const auto refuse = [](std::string_view what, const std::string& given, std::string_view allowed) {
        joined.store(0, std::memory_order_relaxed);
        refuse_board(what, given, allowed);
    };
    if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        refuse(failure_text("the directory of programs that lend cores cannot be made"), directory,
               "a path in /dev/shm, for example");
    try {
        lending_board made(directory, open_board(directory));
        made.head_ = {.workers = workers,
                      .guests = guests,
                      .pid = getpid(),
                      .start = start_ticks(),
                      .name = name_of_program()};
        if (!process_of({made.head_.pid, made.head_.start}).is_open())
            refuse_board(failure_text("a program that lends cores cannot be told from later ones"), directory,
                         "Linux 5.3 or later, with /proc");
        made.name_ = fmt::format("{}-{}", made.head_.pid, made.head_.start);
        const std::size_t bytes = lending_bytes(made.head_);
        make_words(made.directory_.file(), made.name_, head_of(made.head_), bytes, geteuid(), directory);
        opened own = open_words(made.directory_.file(), made.name_.c_str(), true, bytes);
        if (!own.file.is_open()) refuse_board(own.why, directory, "a directory that programs of Weft write");
        made.file_ = std::move(own.file);
        made.look();
        if (std::ssize(made.peers_) >= most_programs)
            refuse_board("too many programs lend cores", fmt::format("{}: {}", directory, made.peers_.size()),
                         fmt::format("at most {}", most_programs));
        return made;
    } catch (...) {
        joined.store(0, std::memory_order_relaxed);
        throw;
    }
}

lending_board lending_board::watch(const std::string& directory) {
    lending_board made(directory, open_board(directory));
    made.look();
    return made;
}

void lending_board::leave() noexcept {
    if (!is_own()) return;
    remove_file();
    name_.clear();
    joined.store(0, std::memory_order_relaxed);
}

void lending_board::remove_file() const noexcept {
    if (is_own()) unlinkat(directory_.file(), name_.c_str(), 0);
}

/// It is not that of a reader, or of a process whose child this one is by fork().
bool lending_board::is_own() const noexcept { return !name_.empty() && head_.pid == getpid(); }

void lending_board::look() {
    find_programs();
    forget_ended();
    cores_.assign(most_cpus, {});
    for (lending_peer& p : peers_) {
        // A file that was cut says what it said before (Z5).
        static_cast<void>(p.file.read(p.words));
        for (int i = 0; i < p.head.workers; ++i) {
            const home_word w = p.home(i);
            if (w.cpu < 0) continue;
            lent_core& c = cores_[static_cast<std::size_t>(w.cpu)];
            if (!w.is_lent)
                c.lender = awake_on_it; // for whichever other program lends it, too
            else if (c.lender != awake_on_it)
                c = {.lender = p.head.pid, .generation = w.generation};
        }
    }
}

lent_core lending_board::core(int cpu) const noexcept {
    const auto at = static_cast<std::size_t>(cpu);
    return cpu >= 0 && at < cores_.size() && cores_[at].lender > 0 ? cores_[at] : lent_core{};
}

rivals lending_board::rivals_for(int cpu) {
    find_programs(); // one that has come since the last look may claim it
    rivals found = rivals::none;
    for (lending_peer& p : peers_) {
        if (has_ended(p.process)) continue; // U3
        static_cast<void>(p.file.read(p.words));
        for (int i = 0; i < p.head.guests; ++i)
            if (p.claim(i).cpu == cpu)
                found = is_before(p.head) ? std::max(found, rivals::later) : rivals::earlier;
    }
    return found;
}

bool lending_board::is_before(const lending_head& other) const noexcept {
    return std::tie(head_.pid, head_.start) < std::tie(other.pid, other.start);
}

void lending_board::find_programs() {
    struct stat is{};
    if (fstat(directory_.file(), &is) != 0) return;
    const std::int64_t changed = ns_of(is.st_mtim);
    if (changed == listed_) return;
    // The clock of files goes in steps of some milliseconds: a directory that has just changed may change again at the same
    // time, and is listed again.
    constexpr std::int64_t longest_step = 50'000'000;
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const std::int64_t age = ns_of(now) - changed;
    listed_ = age >= 0 && age < longest_step ? -1 : changed;

    const int again = openat(directory_.file(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const entries = again >= 0 ? fdopendir(again) : nullptr;
    if (!entries) {
        if (again >= 0) close(again);
        listed_ = -1;
        return;
    }
    std::vector<std::string> names;
    while (const dirent* e = readdir(entries)) names.emplace_back(e->d_name);
    closedir(entries);
    for (const std::string& name : names)
        if (name != name_ &&
            std::ranges::none_of(peers_, [&](const lending_peer& p) { return p.file_name == name; }))
            add_program(name);
}

void lending_board::add_program(const std::string& name) {
    identity whose;
    if (!parse_name(name, whose)) return;
    word_file process = process_of(whose);
    if (!process.is_open() && is_gone(whose)) // no other program gets this name
        unlinkat(directory_.file(), name.c_str(), 0);
    if (!process.is_open() || name.ends_with(unfinished) || whose.pid == head_.pid ||
        std::ssize(peers_) >= most_programs)
        return;
    lending_peer p{.file_name = name};
    p.file =
        word_file(openat(directory_.file(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat is{};
    head_of_file bytes{};
    std::string why;
    if (!p.file.is_open() || fstat(p.file.file(), &is) != 0 || !S_ISREG(is.st_mode) ||
        !p.file.read_head(bytes) || !read_head(bytes, p.head, why) || p.head.pid != whose.pid ||
        p.head.start != whose.start || is.st_size != static_cast<off_t>(lending_bytes(p.head)))
        return;
    p.process = std::move(process);
    p.words.resize(static_cast<std::size_t>(p.head.workers + p.head.guests));
    peers_.push_back(std::move(p));
}

void lending_board::forget_ended() {
    std::erase_if(peers_, [&](const lending_peer& p) {
        if (!has_ended(p.process)) {
            struct stat is{};
            // Without a name: its program has left.
            return fstat(p.file.file(), &is) != 0 || is.st_nlink == 0;
        }
        unlinkat(directory_.file(), p.file_name.c_str(), 0);
        return true;
    });
}

} // namespace weft::share
