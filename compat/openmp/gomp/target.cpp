#include "runtime/league.hpp"
#include "runtime/tasks.hpp"
#include "runtime/team.hpp"

#include <algorithm>
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

/// Under OMP_TARGET_OFFLOAD=mandatory the device must exist. The host, number 0, is one.
void check_offload(int device) {
    constexpr int of_icv = -1, host_fallback = -2;
    if (settings().offload != process_settings::offloading::mandatory || device == host_fallback) return;
    if (device == of_icv) device = current_region().icv.default_device;
    if (device == 0) return;
    std::fprintf(stderr,
                 "weft: OpenMP: there is no such device; given: %d, with OMP_TARGET_OFFLOAD=mandatory; "
                 "allowed: 0, the host\n",
                 device);
    std::exit(1);
}

/// Copies of what a target region has as firstprivate; the array of addresses names the copies.
class private_copies {
public:
    private_copies(std::size_t count, void** addresses, const std::size_t* sizes,
                   const unsigned short* kinds) {
        for (std::size_t i = 0; i < count; ++i) {
            if ((kinds[i] & map_kind_mask) != map_firstprivate) continue;
            if (!addresses[i]) continue; // an optional argument of Fortran that is absent
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

/// What the clauses of the construct say for all devices, as a list of words that ends with 0. A word has a device in bits 0 to
/// 6, a kind in bits 8 to 15, and the value above; or bit 7, and the value is the next word. 0: there is no limit.
int thread_limit_in(void** arguments) noexcept {
    constexpr std::uintptr_t device_mask = 0x7f, value_follows = 1 << 7, kind_mask = 0xff00,
                             thread_limit = 2 << 8;
    constexpr unsigned value_at = 16;
    while (arguments && *arguments) {
        const auto word = reinterpret_cast<std::uintptr_t>(*arguments++);
        const std::uintptr_t value =
            word & value_follows ? reinterpret_cast<std::uintptr_t>(*arguments++) : word >> value_at;
        if ((word & device_mask) == 0 && (word & kind_mask) == thread_limit)
            return static_cast<int>(std::min<std::uintptr_t>(value, 0x7fff'ffff));
    }
    return 0;
}

} // namespace

// gomp/tasks.cpp
extern "C" void GOMP_taskwait_depend(void** depend);

extern "C" {

void GOMP_target_ext(int device, void (*code)(void*), std::size_t count, void** addresses, std::size_t* sizes,
                     unsigned short* kinds, unsigned, void** depend, void** arguments) {
    check_offload(device);
    if (depend) GOMP_taskwait_depend(depend);
    const private_copies copies(count, addresses, sizes, kinds);
    run_as_initial_task(code, addresses, thread_limit_in(arguments));
}
void GOMP_target(int device, void (*code)(void*), const void*, std::size_t, void** addresses, std::size_t*,
                 unsigned char*) {
    check_offload(device);
    run_as_initial_task(code, addresses, 0);
}
void GOMP_target_data(int device, const void*, std::size_t, void**, std::size_t*, unsigned char*) {
    check_offload(device);
}
void GOMP_target_data_ext(int device, std::size_t, void**, std::size_t*, unsigned short*) {
    check_offload(device);
}
void GOMP_target_end_data() {}
void GOMP_target_update(int device, const void*, std::size_t, void**, std::size_t*, unsigned char*) {
    check_offload(device);
}
void GOMP_target_update_ext(int device, std::size_t, void**, std::size_t*, unsigned short*, unsigned,
                            void** depend) {
    check_offload(device);
    if (depend) GOMP_taskwait_depend(depend);
}
void GOMP_target_enter_exit_data(int device, std::size_t, void**, std::size_t*, unsigned short*, unsigned,
                                 void** depend) {
    check_offload(device);
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
    if (teams == 0) teams = settings().teams ? static_cast<unsigned>(settings().teams) : default_teams;
    run_league(static_cast<int>(teams), static_cast<int>(thread_limit), code, data);
}

} // extern "C"
