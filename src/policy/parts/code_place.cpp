#include "policy/parts/code_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {
namespace {

using bytes = std::span<const unsigned char>;
constexpr std::size_t shown_bytes = 4; ///< of a build id, in the name of a place

/// The build id among the notes of a loaded module; empty if it has none.
bytes build_id_of(std::uintptr_t base, const ElfW(Phdr) * first, std::size_t count) noexcept {
    for (const ElfW(Phdr) & p : std::span(first, count)) {
        if (p.p_type != PT_NOTE) continue;
        const auto* at = reinterpret_cast<const unsigned char*>(base + p.p_vaddr);
        const auto* const end = at + p.p_memsz;
        while (static_cast<std::size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note{};
            std::memcpy(&note, at, sizeof note);
            const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
            const auto* const name = at + sizeof note;
            const auto left = static_cast<std::size_t>(end - name);
            if (padded(note.n_namesz) + note.n_descsz > left) break;
            const auto* const text = name + padded(note.n_namesz);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
                return {text, note.n_descsz};
            if (padded(note.n_namesz) + padded(note.n_descsz) >= left) break;
            at = text + padded(note.n_descsz);
        }
    }
    return {};
}

/// The same for a module of which only the address is known at which its file begins.
bytes build_id_at(const void* start) noexcept {
    ElfW(Ehdr) header{};
    std::memcpy(&header, start, sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
    const auto base = reinterpret_cast<std::uintptr_t>(start);
    const auto* const first = reinterpret_cast<const ElfW(Phdr)*>(base + header.e_phoff);
    // A program that is linked to a fixed address has addresses in place of offsets.
    return build_id_of(header.e_type == ET_EXEC ? 0 : base, first, header.e_phnum);
}

struct of_program {
    bytes id;
    static int visit(dl_phdr_info* m, std::size_t, void* found) noexcept {
        static_cast<of_program*>(found)->id = build_id_of(m->dlpi_addr, m->dlpi_phdr, m->dlpi_phnum);
        return 1; // the first one is the program
    }
};

std::string hexadecimal(bytes of) {
    std::string text;
    for (const unsigned char b : of) text += fmt::format("{:02x}", b);
    return text;
}

} // namespace

std::string_view name_of_code(const void* address, std::span<char> room) noexcept {
    Dl_info in{};
    if (dladdr(address, &in) == 0 || in.dli_fname == nullptr) return {};
    std::string_view module = in.dli_fname;
    module.remove_prefix(module.rfind('/') == std::string_view::npos ? 0 : module.rfind('/') + 1);
    const bytes id = build_id_at(in.dli_fbase);
    std::size_t used = 0;
    const auto put = [&](std::string_view text) {
        const std::size_t n = std::min(text.size(), room.size() - used);
        std::memcpy(room.data() + used, text.data(), n);
        used += n;
    };
    char digits[2 + 2 * sizeof(std::uintptr_t)];
    const auto number = [&](std::uint64_t n, int width) {
        constexpr std::string_view hex = "0123456789abcdef";
        std::size_t at = sizeof digits;
        do digits[--at] = hex[n % 16];
        while ((n /= 16) != 0 || static_cast<int>(sizeof digits - at) < width);
        put({digits + at, sizeof digits - at});
    };
    put(module);
    if (id.size() >= shown_bytes) {
        put(".");
        for (const unsigned char b : id.first(shown_bytes)) number(b, 2);
    }
    put("+0x");
    number(static_cast<std::uint64_t>(static_cast<const char*>(address) -
                                      static_cast<const char*>(in.dli_fbase)),
           1);
    return {room.data(), used};
}

std::string identity_of_program() {
    of_program found{};
    dl_iterate_phdr(of_program::visit, &found);
    if (!found.id.empty()) return "build " + hexadecimal(found.id);
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return {};
    path[n] = '\0';
    struct stat s{};
    if (stat(path, &s) != 0) return {};
    return fmt::format("file {} {} {}.{:09}", path, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

} // namespace weft
