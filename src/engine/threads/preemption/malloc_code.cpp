#include "engine/threads/preemption/malloc_code.hpp"

#include "engine/process/registers.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

namespace weft::engine {

/// A library that is loaded, and its exported functions.
class text_of_library {
public:
    /// The one that has the code at this address.
    explicit text_of_library(const void* code) noexcept {
        Dl_info info{};
        void* map = nullptr;
        if (!code || dladdr1(code, &info, &map, RTLD_DL_LINKMAP) == 0 || !map) return;
        map_ = static_cast<const link_map*>(map);
        is_program_ = !*map_->l_name;
        text_.begin = reinterpret_cast<std::uintptr_t>(code);
        dl_iterate_phdr(
            [](dl_phdr_info* of, std::size_t, void* self) {
                auto& text = static_cast<text_of_library*>(self)->text_;
                for (const auto* h = of->dlpi_phdr; h != of->dlpi_phdr + of->dlpi_phnum; ++h) {
                    const std::uintptr_t begin = of->dlpi_addr + h->p_vaddr;
                    if (h->p_type == PT_LOAD && begin <= text.begin && text.begin < begin + h->p_memsz) {
                        text = {begin, begin + h->p_memsz};
                        return 1;
                    }
                }
                return 0;
            },
            this);
    }

    bool is_program() const noexcept { return is_program_; }
    malloc_code::range text() const noexcept { return text_; }

    /// From the end of the last exported function before `from` to the beginning of the first one behind `to`.
    malloc_code::range between_neighbours(std::uintptr_t from, std::uintptr_t to) const noexcept {
        malloc_code::range r = text_;
        const auto* const symbols = reinterpret_cast<const ElfW(Sym)*>(entry(DT_SYMTAB));
        const auto* const names = reinterpret_cast<const char*>(entry(DT_STRTAB));
        if (!symbols || !names) return {};
        for (std::size_t i = 0, n = symbol_count(); i < n; ++i) {
            const ElfW(Sym)& s = symbols[i];
            const auto type = s.st_info & 0xf;
            if (s.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC)) continue;
            if (std::string_view(names + s.st_name) == "__default_morecore")
                continue; // lies in the middle of malloc
            const std::uintptr_t at = map_->l_addr + s.st_value;
            if (at < from) r.begin = std::max(r.begin, std::min<std::uintptr_t>(at + s.st_size, from));
            if (at > to) r.end = std::min<std::uintptr_t>(r.end, at);
        }
        return r;
    }

private:
    std::uintptr_t entry(ElfW(Sxword) tag) const noexcept {
        for (const ElfW(Dyn)* d = map_->l_ld; d->d_tag != DT_NULL; ++d)
            if (d->d_tag == tag) return d->d_un.d_ptr;
        return 0;
    }

    /// The hash table of the GNU linker ends with the last symbol: the chain of the last bucket.
    std::size_t symbol_count() const noexcept {
        const auto* const table = reinterpret_cast<const std::uint32_t*>(entry(DT_GNU_HASH));
        if (!table) return 0;
        const std::uint32_t buckets = table[0], first = table[1], bloom_words = table[2];
        const std::uint32_t* const bucket = table + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof *table);
        const std::uint32_t* const chain = bucket + buckets;
        std::uint32_t last = 0;
        for (std::uint32_t i = 0; i < buckets; ++i) last = std::max(last, bucket[i]);
        if (last < first) return first;
        while (!(chain[last - first] & 1)) ++last;
        return last + 1;
    }

    const link_map* map_ = nullptr;
    bool is_program_ = false;
    malloc_code::range text_;
};

malloc_code& malloc_code::of_this_process() noexcept {
    static malloc_code code;
    return code;
}

malloc_code::malloc_code() noexcept {
    c_library_ = text_of_library(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")).text();
    const text_of_library cxx_library(dlsym(RTLD_DEFAULT, "__cxa_get_globals"));
    if (!cxx_library.is_program()) cxx_library_ = cxx_library.text();
    dynamic_linker_ = text_of_library(dlsym(RTLD_DEFAULT, "__tls_get_addr")).text();
    kernels_own_ = text_of_library(reinterpret_cast<const void*>(getauxval(AT_SYSINFO_EHDR))).text();
    const void* const function = dlsym(RTLD_DEFAULT, "malloc");
    const text_of_library library(function);
    if (library.is_program()) return;
    if (!c_library_.contains(reinterpret_cast<std::uintptr_t>(function))) {
        own_ = library.text();
        return;
    }
    std::uintptr_t first = std::numeric_limits<std::uintptr_t>::max(), last = 0;
    for (const char* const name : {"malloc", "free", "calloc", "realloc", "memalign", "posix_memalign",
                                   "malloc_trim", "malloc_info"}) {
        const auto at = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, name));
        if (!c_library_.contains(at)) continue; // replaced
        first = std::min(first, at);
        last = std::max(last, at);
    }
    constexpr std::size_t most =
        128 * 1024; // the functions do not lie together: a library that was laid out anew
    if (last - first < most) own_ = library.between_neighbours(first, last);
    if (own_.end - own_.begin >= most) own_ = {};
}

bool malloc_code::contains(const ucontext_t& interrupted) const noexcept {
    return own_.contains(program_counter(interrupted));
}

#if defined(__SANITIZE_ADDRESS__)
[[gnu::no_sanitize_address]]
#endif
bool malloc_code::seems_to_call(const ucontext_t& interrupted, const std::byte* top) const noexcept {
    const std::uintptr_t at = program_counter(interrupted);
    constexpr std::uintptr_t instruction = 4; // bytes which state_of() reads
    const auto has = [&](const range& r) { return r.contains(at) && r.contains(at + instruction); };
    if (!is_known() || !(has(c_library_) || has(kernels_own_))) return false;
#if defined(__aarch64__)
    if (own_.contains(interrupted.uc_mcontext.regs[30])) return true;
#endif
    // What malloc calls has small frames.
    constexpr std::ptrdiff_t words = 64;
    const auto* const from = reinterpret_cast<const std::uintptr_t*>(stack_pointer(interrupted));
    const auto* const limit = reinterpret_cast<const std::uintptr_t*>(top);
    if (from >= limit) return false;
    const auto* const to = from + std::min(words, limit - from);
    for (const auto* word = from; word != to; ++word)
        if (own_.contains(*word)) return true;
    return false;
}

namespace {

enum class kernel_state { own_code, at_call_of_malloc, at_other_call, behind_call, interrupted_wait };

kernel_state state_of(const ucontext_t& interrupted) noexcept {
    using enum kernel_state;
    if (is_at_system_call(interrupted)) switch (system_call_number(interrupted)) {
        case SYS_futex: // malloc waits for a plain lock, a condition variable or the end of a thread with a set of bits
            return (second_argument(interrupted) & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET ? at_other_call
                                                                                        : at_call_of_malloc;
        case SYS_mmap:
        case SYS_munmap:
        case SYS_mremap:
        case SYS_mprotect:
        case SYS_madvise:
        case SYS_brk:
        case SYS_sched_yield: return at_call_of_malloc;
        default: return at_other_call;
        }
    if (!is_behind_system_call(interrupted)) return own_code;
    return system_call_result(interrupted) == -EINTR ? interrupted_wait : behind_call;
}

} // namespace

int malloc_code::patience(const ucontext_t& interrupted, const std::byte* top) const noexcept {
    if (!seems_to_call(interrupted, top)) return 0;
    switch (state_of(interrupted)) {
    case kernel_state::own_code: break;
    case kernel_state::at_call_of_malloc:
    case kernel_state::behind_call: return 100; // the task may leave its core to others meanwhile
    case kernel_state::at_other_call: return 2; // the second time it waits there: malloc would not
    case kernel_state::interrupted_wait: return 0;
    }
    return 1000; // what malloc fills or copies at once may be large
}

int malloc_code::patience_of_yield(const ucontext_t& interrupted) const noexcept {
    const std::uintptr_t at = program_counter(interrupted);
    constexpr std::uintptr_t instruction = 4; // bytes which state_of() reads
    const auto has = [&](const range& r) { return r.contains(at) && r.contains(at + instruction); };
    if (!has(c_library_) && !has(dynamic_linker_) && !has(cxx_library_)) return 0;
    // A function that copies or sorts much is found there each time; the few instructions that matter are not.
    return state_of(interrupted) == kernel_state::own_code ? 20 : 0;
}

} // namespace weft::engine
