#include "policy/seam/registry.hpp"

#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

// The built-in policies, one line each, in the order in which they are listed to users. Each stands for the
// `NAME_entry` that a file of this folder defines.
// clang-format off
#define WEFT_BUILT_IN_POLICIES(entry) \
    entry(serial) \
    entry(steal) \
    entry(steal_parent_first) \
    entry(share) \
    entry(near) \
    entry(locality) \
    entry(socket) \
    entry(slaw) \
    entry(mts) \
    entry(pws) \
    entry(hws) \
    entry(pdf) \
    entry(cpdf) \
    entry(cab) \
    entry(static) \
    entry(dynamic) \
    entry(constrained) \
    entry(laws) \
    entry(laws_nc) \
    entry(adws) \
    entry(ml_adws) \
    entry(ml_steal) \
    entry(sb) \
    entry(random_push) \
    entry(chs) \
    entry(cls) \
    entry(crs) \
    entry(tatl) \
    entry(offline) \
    entry(numalb) \
    entry(chaos)
// clang-format on

namespace weft {
namespace policies {
#define WEFT_DECLARE(name) extern constinit const policy_entry name##_entry;
WEFT_BUILT_IN_POLICIES(WEFT_DECLARE)
#undef WEFT_DECLARE
} // namespace policies

namespace {

constexpr const policy_entry* built_in[] = {
#define WEFT_ADDRESS(name) &policies::name##_entry,
    WEFT_BUILT_IN_POLICIES(WEFT_ADDRESS)
#undef WEFT_ADDRESS
};
static_assert(std::size(built_in) < max_policies);

/// Append-only. Entries below `size` never change: they are written before the release store that counts
/// them, and every reader begins with the acquire load of `size`.
struct table {
    table() {
        for (const policy_entry* e : built_in) entries[size.add(1)] = *e;
    }

    std::span<const policy_entry> list() const noexcept {
        return std::span(entries).first(size.load_acquire());
    }

    const policy_entry* find(std::string_view name) const noexcept {
        const auto known = list();
        const auto found =
            std::find_if(known.begin(), known.end(), [&](const policy_entry& e) { return e.name == name; });
        return found == known.end() ? nullptr : &*found;
    }

    std::array<policy_entry, max_policies> entries{};
    queue::cell<std::size_t> size{0};
    queue::spin_lock<> appending;
};

table& known_policies() {
    static table only;
    return only;
}

std::vector<std::string_view> names() {
    std::vector<std::string_view> list;
    for (const policy_entry& e : policy_list()) list.push_back(e.name);
    return list;
}

/// Levenshtein's distance: how many letters to insert, drop or change.
std::size_t edits(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t above = row[j + 1];
            row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (from[i] == to[j] ? 0 : 1)});
            diagonal = above;
        }
    }
    return row.back();
}

/// Empty if no name is near enough for the given one to be a slip of the hand.
std::string_view nearest_name(std::string_view name) {
    const auto list = names();
    const auto nearest =
        std::min_element(list.begin(), list.end(), [&](std::string_view a, std::string_view b) {
            return edits(name, a) < edits(name, b);
        });
    return edits(name, *nearest) <= std::max<std::size_t>(2, nearest->size() / 3) ? *nearest
                                                                                  : std::string_view{};
}

bool is_well_formed(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '-';
    });
}

} // namespace

std::span<const policy_entry> policy_list() { return known_policies().list(); }

const policy_entry* find_policy(std::string_view name) { return known_policies().find(name); }

std::unique_ptr<policy> make_policy(std::string_view spec) {
    const policy_spec halves = split_policy_spec(spec);
    const policy_entry* const entry = find_policy(halves.name);
    if (entry == nullptr) {
        const std::string_view nearest = nearest_name(halves.name);
        throw error(nearest.empty() ? std::string("unknown policy")
                                    : fmt::format("unknown policy, did you mean '{}'?", nearest),
                    fmt::format("'{}'", halves.name), fmt::format("{}", fmt::join(names(), ", ")));
    }
    return entry->make(knob_values(entry->name, entry->knobs, halves.knobs));
}

void register_policy(const policy_entry& entry) {
    if (!is_well_formed(entry.name)) {
        throw error("bad name of a policy", fmt::format("'{}'", entry.name),
                    "lower-case letters, digits and '-'");
    }
    table& known = known_policies();
    known.appending.lock(); // until unlock() nothing throws
    const std::size_t at = known.list().size();
    const bool taken = known.find(entry.name) != nullptr;
    const bool full = at == max_policies;
    if (!taken && !full) {
        known.entries[at] = entry;
        known.size.store_release(at + 1);
    }
    known.appending.unlock();
    if (taken) {
        throw error("a policy of that name is known already", fmt::format("'{}'", entry.name),
                    "a name of its own");
    }
    if (full) {
        throw error("too many policies are registered", fmt::format("'{}'", entry.name),
                    fmt::format("{} in all", max_policies));
    }
}

} // namespace weft
