#include "engine/observe/progress_file.hpp"

#include "engine/ports/host.hpp"
#include "engine/worker/engine.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace weft::engine {

namespace {

struct head {
    std::array<char, 8> magic{'w', 'e', 'f', 't', 'p', 'r', 'g', '\n'};
    std::uint32_t version = 1;
    std::uint32_t workers = 0;
    std::uint32_t process = 0;
    std::uint32_t is_virtual = 0;
};
static_assert(sizeof(head) == 24 && sizeof(head) % alignof(std::uint64_t) == 0);

// Indices of the words behind the head.
enum : std::size_t { sequence, state, real_time, engine_time, roots, first_worker, words_a_worker = 6 };
enum : std::uint64_t { not_begun, running, over };         // of `state`
enum : std::uint64_t { is_busy, is_searching, is_asleep }; // the first word of a worker

std::size_t words_for(int workers) noexcept {
    return first_worker + words_a_worker * static_cast<std::size_t>(workers);
}

std::int64_t steady_ns() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

[[noreturn]] void throw_error(const char* what, const std::string& path, int failure) {
    throw error(fmt::format("{} ({})", what, std::strerror(failure)), "WEFT_PROGRESS=" + path,
                "a file that can be created and mapped, and a thread to write it");
}

} // namespace

progress_file::progress_file(const std::string& path, const engine& of, bool is_virtual)
    : engine_(of)
    , bytes_(sizeof(head) + words_for(of.worker_count()) * sizeof(word))
    , made_(steady_ns())
    , epoch_(of.host.now()) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) throw_error("the file of progress cannot be created", path, errno);
    // Allocates the blocks on the disk now, so that no store finds the disk full.
    if (const int failure = posix_fallocate(file, 0, static_cast<off_t>(bytes_))) {
        close(file);
        throw_error("the file of progress cannot be created", path, failure);
    }
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int failure = errno;
    close(file);
    if (memory == MAP_FAILED) throw_error("the file of progress cannot be mapped", path, failure);
    auto* const first = reinterpret_cast<word*>(static_cast<std::byte*>(memory) + sizeof(head));
    words_ = {first, words_for(of.worker_count())};
    for (word& w : words_) ::new (&w) word(0);
    head h;
    h.workers = static_cast<std::uint32_t>(of.worker_count());
    h.process = static_cast<std::uint32_t>(getpid());
    h.is_virtual = is_virtual ? 1 : 0;
    std::memcpy(memory, &h, sizeof h);

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int no_thread = pthread_create(
        &thread_, nullptr, [](void* self) { return static_cast<progress_file*>(self)->run(), self; }, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (no_thread) {
        munmap(memory, bytes_);
        throw_error("cannot create the thread that tells of progress", path, no_thread);
    }
    pthread_setname_np(thread_, "weft-progress");
}

progress_file::~progress_file() {
    finish();
    munmap(reinterpret_cast<std::byte*>(words_.data()) - sizeof(head), bytes_);
}

void progress_file::begin() noexcept {
    const std::lock_guard lock(waiting_);
    began_ = true;
    changed_.notify_one();
}

void progress_file::finish() noexcept {
    if (finished_) return;
    finished_ = true;
    bool has_workers = false;
    {
        const std::lock_guard lock(waiting_);
        stopping_ = true;
        has_workers = began_;
        changed_.notify_one();
    }
    pthread_join(thread_, nullptr);
    if (has_workers) refresh(over);
}

void progress_file::run() noexcept {
    constexpr std::chrono::milliseconds period{100};
    std::unique_lock lock(waiting_);
    changed_.wait(lock, [&] { return began_ || stopping_; });
    while (!stopping_) {
        lock.unlock();
        refresh(running);
        lock.lock();
        changed_.wait_for(lock, period, [&] { return stopping_; });
    }
}

void progress_file::refresh(std::uint64_t now_it_is) noexcept {
    try {
        counted_.take(engine_, engine_.host.now());
    } catch (const std::bad_alloc&) { return; } // readers see that nothing has changed
    // A sequence lock: a reader keeps its copy if the number is even and the same before and after. Each
    // store is a release: a reader that has read one of these words does not find the older number
    // afterwards, if its processor keeps its loads in order.
    const auto put = [&](std::size_t at, std::uint64_t value) {
        words_[at].store(value, std::memory_order_release); // pairs with the loads of other processes
    };
    // relaxed: only this function writes the number
    const std::uint64_t number = words_[sequence].load(std::memory_order_relaxed);
    words_[sequence].store(number + 1, std::memory_order_relaxed);
    put(state, now_it_is);
    put(real_time, static_cast<std::uint64_t>(steady_ns() - made_));
    put(engine_time, static_cast<std::uint64_t>(counted_.at - epoch_));
    put(roots,
        static_cast<std::uint64_t>(engine_.roots.load(std::memory_order_relaxed))); // a count, orders nothing
    for (std::size_t i = 0; i < counted_.workers.size(); ++i) {
        const tally::worker& w = counted_.workers[i];
        const auto& count = engine_.worker_at(static_cast<int>(i)).count;
        const std::size_t at = first_worker + words_a_worker * i;
        put(at, count.asleep.is_open() ? is_asleep : count.idle.is_open() ? is_searching : is_busy);
        put(at + 1, w.tasks);
        put(at + 2, w.steals);
        put(at + 3, w.exposures);
        put(at + 4, static_cast<std::uint64_t>(w.idle));
        put(at + 5, static_cast<std::uint64_t>(w.asleep));
    }
    words_[sequence].store(number + 2, std::memory_order_release); // pairs with the loads of other processes
}

} // namespace weft::engine
