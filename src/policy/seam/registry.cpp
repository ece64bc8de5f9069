#include "policy/seam/registry.hpp"

#include "machine/nearest_name.hpp"
#include "policy/seam/load_module.hpp"
#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
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
    entry(packing) \
    entry(insitu) \
    entry(snatch) \
    entry(camp) \
    entry(bias) \
    entry(ljfcf) \
    entry(speed) \
    entry(acs) \
    entry(bis) \
    entry(xitao) \
    entry(cats) \
    entry(heft) \
    entry(dheft) \
    entry(aats) \
    entry(optimal) \
    entry(hybrid) \
    entry(auto) \
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

const policy_entry& known_policy(std::string_view name) {
    if (const policy_entry* const entry = known_policies().find(name)) return *entry;
    const std::string_view nearest = nearest_name(name, names());
    throw error(nearest.empty() ? std::string("unknown policy")
                                : fmt::format("unknown policy, did you mean '{}'?", nearest),
                fmt::format("'{}'", name), fmt::format("{}; or MODULE.so:NAME", fmt::join(names(), ", ")));
}

} // namespace

std::span<const policy_entry> policy_list() { return known_policies().list(); }

policy_maker resolve_policy(std::string_view spec) {
    const policy_spec parts = split_policy_spec(spec);
    const policy_entry& entry = parts.module.empty() ? known_policy(parts.name)
                                                     : find_in_module(std::string(parts.module), parts.name);
    policy_maker made{&entry, knob_values(entry.name, entry.knobs, parts.knobs)};
    for (const knob& k : entry.knobs)
        if (k.allowed == "policy") resolve_policy(made.knobs.text(k.key)); // throws
    return made;
}

std::unique_ptr<policy> make_policy(std::string_view spec) { return resolve_policy(spec)(); }

bool is_policy_name(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '-';
    });
}

void register_policy(const policy_entry& entry) {
    if (!is_policy_name(entry.name)) {
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
