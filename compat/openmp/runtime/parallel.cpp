#include "runtime/affinity.hpp"
#include "runtime/crew.hpp"
#include "runtime/dialect.hpp"
#include "runtime/initial.hpp"
#include "runtime/privates.hpp"
#include "runtime/stall.hpp"
#include "runtime/tasks.hpp"
#include "runtime/team.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

/// Parallel regions. The caller becomes thread 0 and stays on its stack and its kernel thread; each other thread of the team is a
/// task of Weft, or has a kernel thread of its own (crew.hpp). Those of a team outside of any region start at fixed workers, so that a thread of the same number finds
/// the thread-local variables of the last region; those of a nested team start where the policy places them.
namespace weft::openmp {

namespace {

/// The end of a region that a tool has seen, for each of its threads (T3).
void end_seen(region& r, const void* from) noexcept {
    tool::work_ends(r, from);
    {
        const tool::sync_scope waits(r, tool::sync::barrier_parallel, from);
        wait_at_end(r);
    }
    tool::implicit_task_ends(r);
}

/// The construct that the region is combined with.
void begin_first_share(region& r) noexcept {
    const work_share& first = r.in->first_share;
    if (!first.is_combined) return;
    tool::work_begins(r, first.is_sections ? tool::work::sections : tool::work::loop, first.loop.count,
                      nullptr);
}

void run_implicit(launch& l) noexcept {
    region& r = *l.of;
    team& t = *r.in;
    context own{&r};
    if (!is_in_crew()) set_context_of_task(own);
    enter_context(&own);
    if (t.may_stall && !is_in_crew()) thread_has_begun();
    if (settings().displays_affinity) display_affinity_of(r);
    if (!t.is_seen) [[likely]] {
        t.code(t.data);
        enter_context(nullptr);
        return arrive_at_end(r);
    }
    tool::implicit_task_begins(r);
    begin_first_share(r);
    t.code(t.data);
    end_seen(r, nullptr);
    enter_context(nullptr);
    const void* const address = &t.unseen;
    t.unseen.fetch_sub(
        1, std::memory_order_release); // pairs with the load in end_parallel(); the last use of the team
    wake_all(address);
}

/// The settings of the implicit tasks of a team at this level.
task_settings settings_in(const region& around, int level, const std::vector<int>* thread_list) {
    task_settings icv = around.icv;
    const process_settings& all = settings();
    const auto at = static_cast<std::size_t>(level);
    if (!all.threads_of_level.empty())
        icv.threads = all.threads_of_level[std::min(at, all.threads_of_level.size() - 1)];
    if (thread_list) {
        icv.thread_list = thread_list;
        icv.list_level = level;
    }
    if (icv.thread_list) {
        const auto inside = static_cast<std::size_t>(level - icv.list_level + 1);
        icv.threads = (*icv.thread_list)[std::min(inside, icv.thread_list->size() - 1)];
    }
    if (icv.bind != binding::off && !all.bind_of_level.empty())
        icv.bind = all.bind_of_level[std::min(at, all.bind_of_level.size() - 1)];
    return icv;
}

void reset(region& r) noexcept {
    free_dependences(r);
    r.children.store(0, std::memory_order_relaxed); // no task is left
    r.group = nullptr;
    r.next_construct = {};
}

/// A team that no thread is in.
std::unique_ptr<team> take_team(seat& s, int size) {
    if (s.spare_team && s.spare_team->size == size)
        return std::unique_ptr<team>(std::exchange(s.spare_team, nullptr));
    return std::make_unique<team>(size);
}

void keep_team(seat& s, team& t) noexcept { delete std::exchange(s.spare_team, &t); }

/// The context in which the region begins: the caller's, or, in a task of Weft that is none of OpenMP, a new one. (The
/// context of the kernel thread is not that of the task, which may go on elsewhere.)
context& enter(team& t, context& here) {
    if (weft::impl::hot_self() && &here == known_initial_context()) {
        t.is_foreign = true;
        t.own.current = here.current;
        enter_context(&t.own);
        return t.own;
    }
    t.is_foreign = false;
    return here;
}

crew& crew_of(seat& s) {
    if (!s.crew_inside) s.crew_inside = new crew;
    return *s.crew_inside;
}

void start_threads(team& t, bool is_outermost) {
    const unsigned others = static_cast<unsigned>(t.size) - 1;
    const unsigned first = number_of_initial_thread() * others;
    const unsigned tasks = tasks_of(t, is_outermost, first);
    t.may_stall = tasks > 0 && (!is_outermost || first + tasks > static_cast<unsigned>(worker_count()));
    if (t.may_stall) threads_will_begin(static_cast<int>(tasks));
    for (unsigned i = 1; i <= others; ++i) {
        launch& l = t.seats[i].implicit.start;
        if (i > tasks)
            crew_of(*t.around->on).start(t, i);
        else if (is_outermost)
            start_at(l, worker_of_thread(t, i, first + i - 1));
        else
            start_anywhere(l, 0);
    }
}

} // namespace

team::team(int threads)
    : size(threads)
    , seats(std::make_unique<seat[]>(static_cast<std::size_t>(threads)))
    , word(static_cast<std::uint64_t>(threads)) {
    first_share.is_first = true;
    for (int i = 0; i < size; ++i) {
        seat& s = seats[static_cast<std::size_t>(i)];
        s.number = i;
        s.of = this;
        s.share = &first_share;
        s.implicit.in = this;
        s.implicit.on = &s;
        s.implicit.start.of = &s.implicit;
        s.implicit.start.run = run_implicit;
    }
}

team::~team() {
    free_shares(*this);
    for (int i = 0; i < size; ++i) {
        seat& s = seats[static_cast<std::size_t>(i)];
        reset(s.implicit);
        free_spare_blocks(s);
        free_privates(s);
        delete s.spare_share;
        delete s.spare_team;
        delete s.crew_inside;
    }
}

int team_size(const region& here, unsigned wanted) noexcept {
    if (wanted == 1 || here.in->active_level >= here.icv.max_active_levels) return 1;
    int n = wanted ? static_cast<int>(std::min(wanted, 0x7fff'ffffu)) : here.icv.threads;
    if (here.icv.dynamic) n = std::min(n, settings().processors);
    return std::max(1, std::min(n, here.icv.thread_limit));
}

team& begin_parallel(int size, void (*code)(void*), void* data, const share_request* share, int bind,
                     task_group* reduces, const void* from_where, const std::vector<int>* thread_list,
                     trace::code_address outlined) {
    context& from = *context_of_caller();
    region& around = *from.current;
    team& t = *take_team(*around.on, size).release();
    t.outer = around.in;
    t.level = t.outer->level + 1;
    t.active_level = t.outer->active_level + (size > 1);
    t.league_size = t.outer->league_size;
    t.league_rank = t.outer->league_rank;
    t.code = code;
    t.data = data;
    t.outlined = outlined ? outlined : trace::address_of(code);
    t.is_cancelled.store(false, std::memory_order_relaxed); // before the threads start
    t.is_share_cancelled.store(false, std::memory_order_relaxed);
    t.left.store(size, std::memory_order_relaxed); // likewise
    if (share) {
        prepare(t.first_share, *share, size);
        t.first_share.is_combined = true;
    }
    const task_settings icv = settings_in(around, t.level, thread_list);
    for (int i = 0; i < size; ++i) {
        seat& s = t.seats[static_cast<std::size_t>(i)];
        s.share = &t.first_share;
        s.at = {};
        s.is_taken.store(true, std::memory_order_relaxed); // as above
        s.implicit.parent = &around;
        s.implicit.is_final = around.is_final;
        s.implicit.group = reduces;
        s.implicit.icv = icv;
    }
    t.reduces = reduces;
    t.around = &around;
    place_threads(t, bind);
    if (speaks_kmp()) bind_thread(t);
    t.entered_in = &enter(t, from);
    t.entered_in->current = &t.seats[0].implicit;
    if (settings().displays_affinity) note_places(t);
    t.is_seen = tool::is_on();
    if (t.is_seen) [[unlikely]]
        tool::parallel_begins(t, from_where);
    if (size > 1) start_threads(t, !weft::impl::hot_self() && t.level == 1);
    if (settings().displays_affinity) display_affinity_of(t.seats[0].implicit);
    if (t.is_seen) [[unlikely]] {
        tool::implicit_task_begins(t.seats[0].implicit);
        begin_first_share(t.seats[0].implicit);
    }
    return t;
}

void end_parallel(const void* from) {
    context& here = *context_of_caller();
    team& t = *here.current->in;
    if (!t.is_seen) [[likely]] {
        wait_at_end(*here.current);
    } else {
        end_seen(*here.current, from);
        // pairs with the subtraction in run_implicit()
        wait_until(&t.unseen, [&] { return t.unseen.load(std::memory_order_acquire) == 1; }, patience::none);
    }
    free_shares(t);
    for (int i = 0; i < t.size; ++i) reset(t.seats[static_cast<std::size_t>(i)].implicit);
    region& around = *t.around;
    here.current = &around;
    const bool was_foreign = t.is_foreign;
    if (speaks_kmp() && t.level == 1) release_thread();
    if (t.is_seen) [[unlikely]]
        tool::parallel_ends(t, from);
    keep_team(*around.on, t);
    if (was_foreign) enter_context(nullptr);
}

} // namespace weft::openmp
