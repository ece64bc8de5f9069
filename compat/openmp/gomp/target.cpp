#include "runtime/initial.hpp"
#include "runtime/tasks.hpp"
#include "runtime/team.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

/// Target regions and teams. There is no device, so a target region runs on the host, in the memory of the program, as OpenMP
/// describes it for the initial device.
using namespace weft::openmp;

namespace {

constexpr unsigned map_kind_mask = 0xff, map_firstprivate = 0x0c;

/// Under OMP_TARGET_OFFLOAD=mandatory there must be a device.
void check_offload() {
    if (settings().offload != process_settings::offloading::mandatory) return;
    std::fputs("weft: OpenMP: there is no device for a target region; given: OMP_TARGET_OFFLOAD=mandatory; allowed: default, "
               "disabled\n",
               stderr);
    std::exit(1);
}

/// Copies of what a target region has as firstprivate; the array of addresses names the copies.
class private_copies {
public:
    private_copies(std::size_t count, void** addresses, const std::size_t* sizes, const unsigned short* kinds) {
        for (std::size_t i = 0; i < count; ++i) {
            if ((kinds[i] & map_kind_mask) != map_firstprivate) continue;
            const std::size_t alignment = std::size_t{1} << (kinds[i] >> 8);
            std::size_t room = sizes[i] + alignment;
            void* at = memory_.emplace_back(std::make_unique<std::byte[]>(room)).get();
            std::align(alignment, sizes[i], at, room);
            std::memcpy(at, addresses[i], sizes[i]);
            addresses[i] = at;
        }
    }

private:
    std::vector<std::unique_ptr<std::byte[]>> memory_{};
};

/// The region begins anew, as the initial task of a device does: outside of any parallel region.
void run_on_host(void (*code)(void*), void* data) {
    context& here = *context_of_caller();
    region* const before = here.current;
    team alone(1);
    alone.left.store(1, std::memory_order_relaxed);
    region& r = alone.seats[0].implicit;
    r.icv = before->icv;
    here.current = &r;
    code(data);
    wait_at_end(r);
    context_of_caller()->current = before;
}

} // namespace

// gomp/tasks.cpp
extern "C" void GOMP_taskwait_depend(void** depend);

extern "C" {

void GOMP_target_ext(int, void (*code)(void*), std::size_t count, void** addresses, std::size_t* sizes,
                     unsigned short* kinds, unsigned, void** depend, void**) {
    check_offload();
    if (depend) GOMP_taskwait_depend(depend);
    const private_copies copies(count, addresses, sizes, kinds);
    run_on_host(code, addresses);
}
void GOMP_target(int, void (*code)(void*), const void*, std::size_t, void** addresses, std::size_t*, unsigned char*) {
    check_offload();
    run_on_host(code, addresses);
}
void GOMP_target_data(int, const void*, std::size_t, void**, std::size_t*, unsigned char*) { check_offload(); }
void GOMP_target_data_ext(int, std::size_t, void**, std::size_t*, unsigned short*) { check_offload(); }
void GOMP_target_end_data() {}
void GOMP_target_update(int, const void*, std::size_t, void**, std::size_t*, unsigned char*) { check_offload(); }
void GOMP_target_update_ext(int, std::size_t, void**, std::size_t*, unsigned short*, unsigned, void** depend) {
    check_offload();
    if (depend) GOMP_taskwait_depend(depend);
}
void GOMP_target_enter_exit_data(int, std::size_t, void**, std::size_t*, unsigned short*, unsigned, void** depend) {
    check_offload();
    if (depend) GOMP_taskwait_depend(depend);
}

// Code for devices that the program carries: there is no device to load it.
void GOMP_offload_register(const void*, int, const void*) {}
void GOMP_offload_unregister(const void*, int, const void*) {}
void GOMP_offload_register_ver(unsigned, const void*, int, const void*) {}
void GOMP_offload_unregister_ver(unsigned, const void*, int, const void*) {}

// ---- teams inside of a target region on the host: a league of the size that was asked for, one team after the other

void GOMP_teams(unsigned, unsigned thread_limit) {
    region& me = current_region();
    if (thread_limit) me.icv.thread_limit = static_cast<int>(thread_limit);
}

bool GOMP_teams4(unsigned low, unsigned, unsigned thread_limit, bool is_first) {
    region& me = current_region();
    if (is_first) {
        if (thread_limit) me.icv.thread_limit = static_cast<int>(thread_limit);
        me.in->league_size = static_cast<int>(low ? low : 1);
        me.in->league_rank = 0;
        return true;
    }
    return ++me.in->league_rank < me.in->league_size;
}

/// A teams construct on the host.
void GOMP_teams_reg(void (*code)(void*), void* data, unsigned teams, unsigned thread_limit, unsigned) {
    constexpr unsigned default_teams = 3; // as libgomp
    context& here = *context_of_caller();
    region* const before = here.current;
    if (teams == 0) teams = settings().teams ? static_cast<unsigned>(settings().teams) : default_teams;
    if (thread_limit == 0) thread_limit = static_cast<unsigned>(settings().teams_thread_limit);
    for (unsigned i = 0; i < teams; ++i) {
        team alone(1);
    alone.left.store(1, std::memory_order_relaxed);
        alone.league_size = static_cast<int>(teams);
        alone.league_rank = static_cast<int>(i);
        region& r = alone.seats[0].implicit;
        r.icv = before->icv;
        if (thread_limit) r.icv.thread_limit = static_cast<int>(thread_limit);
        here.current = &r;
        code(data);
        wait_at_end(r);
        context_of_caller()->current = before;
    }
}

} // extern "C"
