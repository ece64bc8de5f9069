#include "runtime/thread_data.hpp"

#include <algorithm>
#include <mutex>
#include <string_view>

#include <link.h>

namespace weft::openmp {

namespace {

struct finding {
    unsigned long long loaded = 0; ///< how many objects had been loaded when it was made
    bool in_code = false, in_program = false;
};

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

finding find() {
    static std::mutex lock;
    static finding last;
    const std::lock_guard guard(lock);
    struct search {
        finding& found;
        bool is_program = true; // which comes first
    } now{last};
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* of) {
            search& s = *static_cast<search*>(of);
            if (s.is_program) {
                if (s.found.loaded == object->dlpi_adds) return 1;
                s.found = {.loaded = object->dlpi_adds};
            }
            if (has_thread_data(*object) && needs_openmp(*object)) {
                s.found.in_code = true;
                s.found.in_program |= s.is_program;
            }
            s.is_program = false;
            return 0;
        },
        &now);
    return last;
}

} // namespace

bool code_has_thread_data() { return find().in_code; }
bool program_has_thread_data() { return find().in_program; }

} // namespace weft::openmp
