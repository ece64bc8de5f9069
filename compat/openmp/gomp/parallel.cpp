#include "runtime/cancellation.hpp"
#include "runtime/reductions.hpp"
#include "runtime/tasks.hpp"
#include "runtime/team.hpp"

#include <cstdint>
#include <memory>

/// GOMP_parallel and its like, sections, and cancellation.
using namespace weft::openmp;

namespace {

constexpr int cancel_loop = 2, cancel_sections = 4, cancel_group = 8;

share_request sections(unsigned count) {
    return {.loop = {.count = count,
                     .first = 1,
                     .last = count + 1ULL,
                     .chunk = 1,
                     .how = schedule_kind::by_dynamic},
            .is_sections = true};
}

unsigned next_section() {
    std::uint64_t begin = 0, end = 0;
    return next_chunk(current_region(), begin, end) ? static_cast<unsigned>(begin + 1) : 0;
}

cancellable construct_of(int which) noexcept {
    if (which & (cancel_loop | cancel_sections)) return cancellable::work_share;
    return which & cancel_group ? cancellable::group : cancellable::parallel;
}

int bind_of(unsigned flags) noexcept { return static_cast<int>(flags & 7); }

} // namespace

extern "C" {

void GOMP_parallel(void (*code)(void*), void* data, unsigned threads, unsigned flags) {
    begin_parallel(team_size(current_region(), threads), code, data, nullptr, bind_of(flags), nullptr,
                   WEFT_CALLER);
    code(data);
    end_parallel(WEFT_CALLER);
}

// Compilers before gcc 4.9 call the code themselves.
void GOMP_parallel_start(void (*code)(void*), void* data, unsigned threads) {
    begin_parallel(team_size(current_region(), threads), code, data, nullptr, 0, nullptr, WEFT_CALLER);
}
void GOMP_parallel_end() { end_parallel(WEFT_CALLER); }

unsigned GOMP_parallel_reductions(void (*code)(void*), void* data, unsigned threads, unsigned flags) {
    region& me = current_region();
    const int size = team_size(me, threads);
    auto* const set = *static_cast<std::uintptr_t**>(data);
    register_reductions(set, nullptr, size);
    task_group of_team;
    of_team.is_work_share = true;
    of_team.reductions = set;
    begin_parallel(size, code, data, nullptr, bind_of(flags), &of_team, WEFT_CALLER);
    code(data);
    end_parallel(WEFT_CALLER);
    return static_cast<unsigned>(size);
}

// ---- sections

unsigned GOMP_sections_start(unsigned count) {
    region& me = current_region();
    static_cast<void>(enter_share(me, sections(count)));
    if (tool::is_on()) [[unlikely]]
        tool::work_begins(me, tool::work::sections, count, WEFT_CALLER);
    return next_section();
}
unsigned GOMP_sections2_start(unsigned count, std::uintptr_t* reductions, void** memory) {
    region& me = current_region();
    share_request r = sections(count);
    if (reductions) begin_group(me, true);
    r.reductions = reductions;
    r.memory = memory ? reinterpret_cast<std::uintptr_t>(*memory) : 0;
    static_cast<void>(enter_share(me, r));
    if (reductions) me.group->reductions = reductions;
    if (memory) *memory = me.on->share->memory;
    if (tool::is_on()) [[unlikely]]
        tool::work_begins(me, tool::work::sections, count, WEFT_CALLER);
    return next_section();
}
unsigned GOMP_sections_next() { return next_section(); }
void GOMP_sections_end() {
    static_cast<void>(pass_barrier(current_region(), false, tool::sync::barrier_workshare, WEFT_CALLER));
}
void GOMP_sections_end_nowait() {
    if (tool::is_on()) [[unlikely]]
        tool::work_ends(current_region(), WEFT_CALLER);
}
bool GOMP_sections_end_cancel() {
    return pass_barrier(current_region(), true, tool::sync::barrier_workshare, WEFT_CALLER);
}

void GOMP_parallel_sections(void (*code)(void*), void* data, unsigned threads, unsigned count,
                            unsigned flags) {
    const share_request r = sections(count);
    begin_parallel(team_size(current_region(), threads), code, data, &r, bind_of(flags), nullptr,
                   WEFT_CALLER);
    code(data);
    end_parallel(WEFT_CALLER);
}
void GOMP_parallel_sections_start(void (*code)(void*), void* data, unsigned threads, unsigned count) {
    const share_request r = sections(count);
    begin_parallel(team_size(current_region(), threads), code, data, &r, 0, nullptr, WEFT_CALLER);
}

// ---- cancellation

bool GOMP_cancellation_point(int which) { return is_cancelled(current_region(), construct_of(which)); }

bool GOMP_cancel(int which, bool is_so) {
    region& me = current_region();
    return is_so ? cancel(me, construct_of(which)) : is_cancelled(me, construct_of(which));
}

} // extern "C"
