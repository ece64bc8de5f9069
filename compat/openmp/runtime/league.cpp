#include "runtime/league.hpp"

#include "runtime/affinity.hpp"
#include "runtime/dialect.hpp"
#include "runtime/team.hpp"

namespace weft::openmp {

namespace {

/// The caller becomes the only thread of `alone`, whose settings are those that are given.
void run_in(team& alone, const task_settings& icv, int thread_limit, void (*code)(void*), void* data) {
    context& here = *context_of_caller();
    region* const before = here.current;
    alone.left.store(1, std::memory_order_relaxed);
    alone.around = before;
    region& r = alone.seats[0].implicit;
    r.icv = icv;
    if (thread_limit) r.icv.thread_limit = thread_limit;
    here.current = &r;
    const bool is_seen = tool::is_on();
    if (is_seen) [[unlikely]]
        tool::team_task_begins(r);
    code(data);
    wait_at_end(r);
    if (is_seen) [[unlikely]]
        tool::team_task_ends(r);
    context_of_caller()->current = before;
}

} // namespace

void run_league(int teams, int thread_limit, void (*code)(void*), void* data) {
    if (thread_limit == 0) thread_limit = settings().teams_thread_limit;
    const task_settings icv = current_region().icv;
    const placement here = current_region().on->place;
    for (int i = 0; i < teams; ++i) {
        team alone(1);
        alone.league_size = teams;
        alone.league_rank = i;
        alone.seats[0].place = speaks_kmp() && icv.bind != binding::off
                                   ? place_of_thread(here, settings().teams_bind, i, teams)
                                   : here;
        run_in(alone, icv, thread_limit, code, data);
    }
}

void run_as_initial_task(void (*code)(void*), void* data, int thread_limit) {
    team alone(1);
    run_in(alone, settings().first, thread_limit, code, data);
}

} // namespace weft::openmp
