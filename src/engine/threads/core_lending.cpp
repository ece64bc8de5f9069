#include "engine/threads/core_lending.hpp"

#include "engine/threads/thread_engine.hpp"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <new>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace weft::engine {

namespace {

using claims = share::core_claims<queue::std_sync>;

time_ns processor_time(pthread_t of) noexcept {
    clockid_t clock{};
    timespec t{};
    if (pthread_getcpuclockid(of, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
    return t.tv_sec * time_ns{1'000'000'000} + t.tv_nsec;
}

} // namespace

/// One claim of this program, as a share::core_claims has it.
struct core_lending::one_claim {
    core_lending& of;
    const borrowed& what;

    share::rivals look() { return of.board_.rivals_for(of.cpu_of(what)); }
    void claim() noexcept {
        of.board_.set_claim(
            what.word,
            {.cpu = of.cpu_of(what), .lender = what.as_seen.lender, .generation = what.as_seen.generation});
    }
    void withdraw() noexcept { of.board_.set_claim(what.word, {}); }
};

core_lending::core_lending(thread_engine& of, const lending_options& o, int homes, share::lending_board board)
    : of_(of)
    , reach_(o.reach)
    , homes_(homes)
    , board_(std::move(board))
    , homes_said_(static_cast<std::size_t>(homes))
    , usual_policy_(std::max(sched_getscheduler(0), 0))
    , records_(o.reach.size())
    , is_refused_(o.reach.size())
    , seats_(o.reach.size())
    , clock_(
          of, o.tick.count(), [](void* self, time_ns now) { static_cast<core_lending*>(self)->tick(now); },
          this, "lending of cores",
          [](void* self, time_ns) {
              if (auto* const l = static_cast<core_lending*>(self); l->begun_.load(std::memory_order_acquire))
                  l->give_all_back(); // Z3. acquire: pairs with begin()
          }) {
    finish_.enter([](void* self) noexcept { static_cast<core_lending*>(self)->board_.remove_file(); }, this);
}

void core_lending::begin() noexcept {
    sched_getparam(0, &usual_priority_);
    if (sched_getaffinity(0, sizeof home_mask_, &home_mask_) != 0) return; // masks larger than cpu_set_t
    begun_.store(true, std::memory_order_release); // pairs with the loads on the clock's thread
}

void core_lending::stop() noexcept {
    finish_.leave();
    clock_.stop();
    give_all_back();
    board_.leave();
}

thread_worker& core_lending::guest(std::size_t i) const noexcept {
    return *of_.all_workers[static_cast<std::size_t>(homes_) + i];
}

// ---- what the program lends

void core_lending::sleeps(const thread_worker& w) noexcept {
    if (of_.is_guest(w)) return;
    share::home_word& said = homes_said_[static_cast<std::size_t>(w.id)];
    said = {.cpu = of_.options.pin ? of_.machine.core_at(w.core()).os_index : sched_getcpu(),
            .is_lent = true,
            .generation = said.generation + 1};
    board_.set_home(w.id, said);
}

// The kernel has taken the core from a guest of another program when this runs: that one is SCHED_IDLE there (Z1).
void core_lending::wakes(const thread_worker& w) noexcept {
    if (of_.is_guest(w)) return;
    share::home_word& said = homes_said_[static_cast<std::size_t>(w.id)];
    said.is_lent = false;
    if (!of_.options.pin) said.cpu = sched_getcpu();
    board_.set_home(w.id, said);
}

// ---- what it borrows

void core_lending::tick(time_ns now) noexcept {
    if (!begun_.load(std::memory_order_acquire)) return; // pairs with begin()
    const time_ns elapsed = now - last_tick_;
    last_tick_ = now;
    try {
        board_.look();
        see_lent_cores();
        const share::crew_sight crew = look_at_crew();
        drop_lost(elapsed);
        const int wanted = of_.may_borrow() ? appetite_.want(crew) : 0;
        while (std::ssize(held_) > wanted) drop_held(held_.size() - 1);
        carry_out();
        confirm_waiting(wanted);
        grow(wanted);
        carry_out();
        note_use();
    } catch (const std::bad_alloc&) { give_all_back(); }
}

void core_lending::give_all_back() noexcept {
    for (const borrowed& b : waiting_) one_claim{*this, b}.withdraw(); // no guest is there
    waiting_.clear();
    std::vector<borrowed> left;
    left.swap(held_);
    carry_out();
    for (const borrowed& b : left) one_claim{*this, b}.withdraw();
}

void core_lending::see_lent_cores() {
    for (std::size_t i = 0; i < reach_.size(); ++i) {
        const share::lent_core c = board_.core(reach_[i]);
        records_[i].see(c.lender, c.generation);
    }
}

void core_lending::drop_lost(time_ns elapsed) {
    for (std::size_t g = held_.size(); g-- > 0;)
        if (board_.core(cpu_of(held_[g])) != held_[g].as_seen || is_starved(g, elapsed)) {
            records_[held_[g].place].was_lost();
            drop_held(g);
        }
    std::erase_if(waiting_, [&](const borrowed& b) {
        if (board_.core(cpu_of(b)) == b.as_seen) return false;
        one_claim{*this, b}.withdraw(); // no guest is there
        return true;
    });
}

/// The last guest gets the core of the one whose core is dropped, if it is another one.
void core_lending::drop_held(std::size_t guest) {
    dropped_.push_back(held_[guest]);
    held_[guest] = held_.back();
    held_.pop_back();
}

/// Its task had less than half of the core, or slept: others use the core, or the task does not need it.
bool core_lending::is_starved(std::size_t g, time_ns elapsed) const noexcept {
    if (seats_[g].used < 0 || !guest(g).working.load(std::memory_order_relaxed)) return false;
    return processor_time(guest(g).thread) - seats_[g].used < elapsed / 2;
}

void core_lending::note_use() noexcept {
    for (std::size_t g = 0; g < held_.size(); ++g) {
        const bool works = guest(g).working.load(std::memory_order_relaxed); // a sample
        seats_[g].used = works ? processor_time(guest(g).thread) : -1;
        if (works) records_[held_[g].place].was_of_use();
    }
}

share::crew_sight core_lending::look_at_crew() const noexcept {
    const auto idle = [&](std::size_t first, std::size_t count) {
        int sum = 0;
        for (std::size_t i = first; i < first + count; ++i)
            if (!of_.all_workers[i]->working.load(std::memory_order_relaxed)) ++sum; // a sample
        return sum;
    };
    const auto homes = static_cast<std::size_t>(homes_);
    return {.idle_homes = idle(0, homes),
            .guests = static_cast<int>(held_.size()),
            .idle_guests = idle(homes, held_.size())};
}

void core_lending::confirm_waiting(int wanted) {
    std::erase_if(waiting_, [&](const borrowed& b) {
        one_claim one{*this, b};
        if (std::ssize(held_) >= wanted) return one.withdraw(), true;
        const share::claimed now = claims::confirm(one);
        if (now == share::claimed::held && !occupy(b)) one.withdraw();
        return now != share::claimed::waits;
    });
}

void core_lending::grow(int wanted) {
    for (std::size_t i = 0; i < reach_.size() && std::ssize(held_) + std::ssize(waiting_) < wanted; ++i) {
        const auto is_here = [&](const borrowed& b) { return b.place == i; };
        if (is_refused_[i] || !records_[i].is_steady() || std::ranges::any_of(held_, is_here) ||
            std::ranges::any_of(waiting_, is_here))
            continue;
        const borrowed b{.place = i, .word = free_word(), .as_seen = board_.core(reach_[i])};
        one_claim one{*this, b};
        switch (claims::take(one)) {
        case share::claimed::held:
            if (!occupy(b)) one.withdraw();
            break;
        case share::claimed::waits: waiting_.push_back(b); break;
        case share::claimed::refused: break;
        }
    }
}

/// A claim that no core of this program uses. There are as many words as cores in reach.
int core_lending::free_word() const noexcept {
    for (int word = 0;; ++word) {
        const auto uses = [&](const borrowed& b) { return b.word == word; };
        if (std::ranges::none_of(held_, uses) && std::ranges::none_of(waiting_, uses)) return word;
    }
}

/// The next guest gets the core. False if the system refuses, now and later.
bool core_lending::occupy(const borrowed& b) {
    held_.reserve(held_.size() + 1);
    dropped_.reserve(dropped_.size() + held_.size() + 1);
    if (!send_to(held_.size(), cpu_of(b))) {
        is_refused_[b.place] = true;
        send_home(held_.size());
        return false;
    }
    held_.push_back(b);
    return true;
}

/// Brings the guests to the cores that are held, and the others home; then the cores that were dropped are free for others.
void core_lending::carry_out() noexcept {
    // First of all the threads move: a guest that others keep from running may hold a lock of the policy.
    for (std::size_t g = 0; g < seats_.size(); ++g) {
        const int cpu = g < held_.size() ? cpu_of(held_[g]) : -1;
        if (cpu == seats_[g].cpu) continue;
        if (cpu < 0 || !send_to(g, cpu)) send_home(g);
    }
    const int count = static_cast<int>(held_.size());
    if (count != active_guests_) of_.set_guests(count);
    active_guests_ = count;
    for (const borrowed& b : dropped_) one_claim{*this, b}.withdraw();
    dropped_.clear();
}

bool core_lending::send_to(std::size_t g, int cpu) noexcept {
    constexpr sched_param none{};
    const pid_t thread = guest(g).own.id;
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<std::size_t>(cpu), &mask);
    if (sched_setscheduler(thread, SCHED_IDLE, &none) != 0) return false; // before it comes there (Z1)
    if (sched_setaffinity(thread, sizeof mask, &mask) != 0) return false;
    seats_[g] = {.cpu = cpu, .used = -1};
    return true;
}

void core_lending::send_home(std::size_t g) noexcept {
    const pid_t thread = guest(g).own.id;
    cpu_set_t mask;
    // Of the first thread, which a daemon moves with the program; if it has ended, as it was at first.
    if (sched_getaffinity(getpid(), sizeof mask, &mask) != 0) mask = home_mask_;
    sched_setaffinity(thread, sizeof mask, &mask);
    // Without CAP_SYS_NICE or RLIMIT_NICE it stays SCHED_IDLE, and runs there when no other thread of the program does (Z2).
    sched_setscheduler(thread, usual_policy_, &usual_priority_);
    seats_[g] = {};
}

} // namespace weft::engine
