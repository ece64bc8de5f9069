#include "share/lending_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace weft::share {

namespace {

constexpr char lending_magic[8] = {'w', 'e', 'f', 't', 'l', 'n', 'd', '\n'};

struct head_in_file {
    char magic[8];
    std::uint32_t version, workers, guests, unused;
    std::int64_t pid, start;
    char name[most_name + 1];
};
static_assert(sizeof(head_in_file) == word_file::head_bytes);

// A home word: bit 0 lent, 16 bits the number of the core plus 1, the generation. A claim: 16 bits, 23 bits the process, the
// generation.
constexpr unsigned cpu_bits = 16, pid_bits = 23;
constexpr std::uint64_t cpu_mask = (std::uint64_t{1} << cpu_bits) - 1;
constexpr std::uint64_t pid_mask = (std::uint64_t{1} << pid_bits) - 1;
constexpr std::uint64_t home_generations = (std::uint64_t{1} << 40) - 1;
constexpr std::uint64_t claim_generations = (std::uint64_t{1} << 20) - 1;

std::uint64_t pack_cpu(int cpu) noexcept { return static_cast<std::uint64_t>(cpu + 1); }

int cpu_of(std::uint64_t bits) noexcept {
    const std::uint64_t stored = bits & cpu_mask;
    return stored <= most_cpus ? static_cast<int>(stored) - 1 : -1;
}

} // namespace

std::size_t lending_bytes(const lending_head& h) noexcept {
    return word_file::head_bytes + sizeof(std::uint64_t) * static_cast<std::size_t>(1 + h.workers + h.guests);
}

head_of_file head_of(const lending_head& h) noexcept {
    head_in_file in{};
    std::memcpy(in.magic, lending_magic, sizeof in.magic);
    in.version = layout_version;
    in.workers = static_cast<std::uint32_t>(h.workers);
    in.guests = static_cast<std::uint32_t>(h.guests);
    in.pid = h.pid;
    in.start = h.start;
    std::memcpy(in.name, h.name.data(), std::min(h.name.size(), most_name));
    head_of_file bytes{};
    std::memcpy(bytes.data(), &in, sizeof in);
    return bytes;
}

bool read_head(const head_of_file& bytes, lending_head& h, std::string& why) {
    head_in_file in{};
    std::memcpy(&in, bytes.data(), sizeof in);
    if (std::memcmp(in.magic, lending_magic, sizeof in.magic) != 0 || in.version != layout_version) {
        why = fmt::format("it has no head of version {}", layout_version);
        return false;
    }
    if (in.workers < 1 || in.workers > most_lending_workers || in.guests > most_lending_workers) {
        why = fmt::format("it has {} workers and {} guests", in.workers, in.guests);
        return false;
    }
    if (in.pid < 1 || in.pid > most_pid || in.start < 0 || in.start > most_count) {
        why = fmt::format("its process is {}, started at {}", in.pid, in.start);
        return false;
    }
    in.name[most_name] = '\0';
    h = {.workers = static_cast<int>(in.workers),
         .guests = static_cast<int>(in.guests),
         .pid = in.pid,
         .start = in.start,
         .name = in.name};
    return true;
}

std::uint64_t pack(const home_word& w) noexcept {
    return (w.is_lent ? 1u : 0u) | pack_cpu(w.cpu) << 1 | (w.generation & home_generations) << (cpu_bits + 1);
}

std::uint64_t pack(const claim_word& w) noexcept {
    return pack_cpu(w.cpu) | (static_cast<std::uint64_t>(w.lender) & pid_mask) << cpu_bits |
           (w.generation & claim_generations) << (cpu_bits + pid_bits);
}

home_word home_of(std::uint64_t word) noexcept {
    const int cpu = cpu_of(word >> 1);
    if (cpu < 0) return {};
    return {.cpu = cpu, .is_lent = (word & 1) != 0, .generation = word >> (cpu_bits + 1) & home_generations};
}

claim_word claim_of(std::uint64_t word) noexcept {
    const int cpu = cpu_of(word);
    if (cpu < 0) return {};
    return {.cpu = cpu,
            .lender = static_cast<std::int64_t>(word >> cpu_bits & pid_mask),
            .generation = word >> (cpu_bits + pid_bits) & claim_generations};
}

} // namespace weft::share
