#include "runtime/thread_data.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <link.h>

namespace weft::openmp {

namespace {

constexpr std::uint64_t in_code = 1, in_program = 2, flags = 3;
/// What was found last: above the flags, how many objects had been loaded by then. relaxed: one word. No lock, which a constructor of a
/// library that is being loaded might wait for.
constinit std::atomic<std::uint64_t> last{0};

bool is_openmp_library(std::string_view name) noexcept {
    constexpr std::string_view beginnings[] = {"libgomp", "libomp", "libiomp5"}; // wheels add to the name
    return std::ranges::any_of(beginnings, [&](std::string_view b) { return name.starts_with(b); });
}

bool needs_openmp(const dl_phdr_info& object) noexcept {
    const ElfW(Dyn)* entries = nullptr;
    for (int i = 0; i < object.dlpi_phnum; ++i)
        if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
            entries = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    if (!entries) return false;
    ElfW(Addr) names = 0;
    for (const auto* e = entries; e->d_tag != DT_NULL; ++e)
        if (e->d_tag == DT_STRTAB) names = e->d_un.d_ptr;
    if (names == 0) return false;
    if (names < object.dlpi_addr) names += object.dlpi_addr; // glibc has added it, other loaders have not
    for (const auto* e = entries; e->d_tag != DT_NULL; ++e)
        if (e->d_tag == DT_NEEDED && is_openmp_library(reinterpret_cast<const char*>(names + e->d_un.d_val)))
            return true;
    return false;
}

bool has_thread_data(const dl_phdr_info& object) noexcept {
    return std::any_of(object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum,
                       [](const ElfW(Phdr) & p) { return p.p_type == PT_TLS && p.p_memsz > 0; });
}

std::uint64_t find() noexcept {
    struct search {
        std::uint64_t found;
        bool is_program = true; // which comes first
    } now{last.load(std::memory_order_relaxed)};
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* of) {
            search& s = *static_cast<search*>(of);
            if (s.is_program) {
                const std::uint64_t loaded = std::uint64_t{object->dlpi_adds} << 2;
                if ((s.found & ~flags) == loaded) return 1;
                s.found = loaded;
            }
            if (has_thread_data(*object) && needs_openmp(*object)) s.found |= s.is_program ? flags : in_code;
            s.is_program = false;
            return 0;
        },
        &now);
    last.store(now.found, std::memory_order_relaxed);
    return now.found;
}

} // namespace

bool code_has_thread_data() noexcept { return (find() & in_code) != 0; }
bool program_has_thread_data() noexcept { return (find() & in_program) != 0; }

} // namespace weft::openmp
