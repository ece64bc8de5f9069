// Target regions and teams on the host, allocators, the error directive, and what the API says of devices.
#include <cstdint>
#include <cstdio>
#include <omp.h>

int main() {
    std::printf("devices %d, host %d\n", omp_get_num_devices(), omp_is_initial_device());
    int a[100], sum = 0, first = 5;
    for (int i = 0; i < 100; ++i) a[i] = i;
#pragma omp target map(tofrom : sum) map(to : a) firstprivate(first)
    {
        first += 1;
        for (const int v : a) sum += v;
        sum += first + omp_get_level();
    }
    std::printf("target: %d %d\n", sum, first);
#pragma omp target teams distribute parallel for map(tofrom : a) num_teams(2) thread_limit(2)
    for (int i = 0; i < 100; ++i) a[i] *= 2;
    sum = 0;
    for (const int v : a) sum += v;
    int teams = 0, largest = 0;
#pragma omp teams num_teams(3) reduction(+ : teams) reduction(max : largest)
    {
        teams += omp_get_num_teams();
        largest = omp_get_team_num();
    }
    std::printf("teams: %d %d %d\n", sum, teams, largest);
    void* const p = omp_aligned_alloc(256, 1000, omp_default_mem_alloc);
    std::printf("aligned: %d\n", reinterpret_cast<std::uintptr_t>(p) % 256 == 0);
    omp_free(p, omp_null_allocator);
    omp_alloctrait_t traits[] = {{omp_atk_pool_size, 1000}, {omp_atk_fallback, omp_atv_null_fb}};
    const omp_allocator_handle_t small = omp_init_allocator(omp_default_mem_space, 2, traits);
    std::printf("pool: %d\n", omp_alloc(5000, small) == nullptr);
    omp_destroy_allocator(small);
#pragma omp error severity(warning) at(execution) message("said while it runs")
}
