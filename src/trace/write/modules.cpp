#include "trace/write/modules.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <elf.h>
#include <link.h>
#include <unistd.h>

namespace weft::trace {

namespace {

using header = ElfW(Phdr);

std::span<const header> headers_of(const dl_phdr_info& m) { return {m.dlpi_phdr, m.dlpi_phnum}; }

/// `bytes` from `first` on, counted from where the module lies, are in one loaded part of it.
bool is_loaded(const dl_phdr_info& m, std::uint64_t first, std::uint64_t bytes) {
    for (const header& h : headers_of(m))
        if (h.p_type == PT_LOAD && first >= h.p_vaddr && bytes <= h.p_memsz &&
            first - h.p_vaddr <= h.p_memsz - bytes)
            return true;
    return false;
}

std::string in_hexadecimal(const unsigned char* first, std::size_t bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i) {
        text += digits[first[i] >> 4];
        text += digits[first[i] & 15];
    }
    return text;
}

/// Of the note that the linker leaves, in memory.
std::string build_id_of(const dl_phdr_info& m) {
    constexpr auto rounded = [](std::uint64_t n) { return (n + 3) / 4 * 4; };
    for (const header& h : headers_of(m)) {
        if (h.p_type != PT_NOTE || !is_loaded(m, h.p_vaddr, h.p_memsz)) continue;
        const auto* at = reinterpret_cast<const unsigned char*>(m.dlpi_addr + h.p_vaddr);
        std::uint64_t left = h.p_memsz;
        while (left >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const std::uint64_t name_at = sizeof note, id_at = name_at + rounded(note.n_namesz),
                                end = id_at + rounded(note.n_descsz);
            if (end > left) break;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof ELF_NOTE_GNU &&
                std::memcmp(at + name_at, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0)
                return in_hexadecimal(at + id_at, note.n_descsz);
            at += end;
            left -= end;
        }
    }
    return {};
}

/// The loader names the program by an empty text, and a library as it was asked for.
std::string file_of(const dl_phdr_info& m) {
    const bool is_program = !m.dlpi_name || !*m.dlpi_name;
    const char* const name = is_program ? "/proc/self/exe" : m.dlpi_name;
    const std::unique_ptr<char, decltype(&std::free)> path(::realpath(name, nullptr), std::free);
    if (path) return path.get();
    return is_program ? "" : name; // removed meanwhile, or no file at all, as the kernel's own
}

struct question {
    code_address address;
    code_place answer{};
};

} // namespace

code_place place_of(code_address code) {
    question asked{.address = code, .answer = {.offset = code}};
    dl_iterate_phdr(
        [](dl_phdr_info* m, std::size_t, void* of) {
            auto& q = *static_cast<question*>(of);
            if (!is_loaded(*m, q.address - m->dlpi_addr, 1)) return 0;
            q.answer = {
                .module = file_of(*m), .build_id = build_id_of(*m), .offset = q.address - m->dlpi_addr};
            return 1;
        },
        &asked);
    return std::move(asked.answer);
}

} // namespace weft::trace
