#pragma once

#include "policy/seam/entry.hpp"
#include "queue/cell.hpp"

#include <weft/impl/group.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

/// Policies in a shared object, which `WEFT_POLICY=./mine.so:NAME` loads. The object needs no symbol of the library:
/// a policy calls the engine through its context, and everything else here is inline. So it does not matter how the
/// program was linked. docs/adding-a-policy.md is the tour.
namespace weft {
inline namespace policy_v8 {

/// The version of the seam. It changes, and the namespace with it, when a hook, or what a hook gets, changes.
inline constexpr std::uint32_t policy_abi = 8;

/// What a module may ask of the library that has loaded it.
struct policy_host {
    /// As make_policy() of the library, for policies that are built on another one. Throws weft::error.
    std::unique_ptr<policy> (*make_policy)(std::string_view spec);
};

/// Of the compiler's side: two sides that differ in it would read each other's objects wrongly.
struct policy_layout {
    std::uint32_t strings; ///< the standard library's, by its version of std::string
    std::uint32_t sizes;   ///< a sum over the sizes of what both sides read

    constexpr bool operator==(const policy_layout&) const = default;
};

constexpr policy_layout layout_of_policies() {
    std::uint32_t sum = 2166136261U;
    for (const std::size_t bytes :
         {sizeof(task), sizeof(group), sizeof(hints), sizeof(data_access), sizeof(machine),
          sizeof(machine_parts), sizeof(core), sizeof(cache), sizeof(memory_node), sizeof(requirements),
          sizeof(placement), sizeof(decision), sizeof(usage), sizeof(snapshot), sizeof(knob),
          sizeof(knob_values), sizeof(policy_entry), sizeof(std::unique_ptr<policy>)})
        sum = (sum ^ static_cast<std::uint32_t>(bytes)) * 16777619U;
#if defined(_GLIBCXX_USE_CXX11_ABI)
    return {_GLIBCXX_USE_CXX11_ABI, sum};
#elif defined(_LIBCPP_ABI_VERSION)
    return {1000 + _LIBCPP_ABI_VERSION, sum};
#else
    return {9999, sum};
#endif
}

/// What a module exports as `weft_policy_module`. The first two members keep their places in all versions.
struct policy_module {
    std::uint32_t abi;
    std::uint32_t count; ///< of the entries
    policy_layout layout;
    const policy_entry* const* entries;
    queue::cell<const policy_host*>* host; ///< set by the library before it makes a policy
};

/// Of this module.
[[gnu::visibility("hidden")]] inline constinit queue::cell<const policy_host*> host_of_this_module{nullptr};

/// In policy_entry::make of a module: the policy on which another one is built. Throws weft::error.
inline std::unique_ptr<policy> make_host_policy(std::string_view spec) {
    return host_of_this_module.load_acquire()->make_policy(spec); // pairs with the store by the library
}

} // namespace policy_v8
} // namespace weft

/// Once in a module, at namespace scope outside of all namespaces: lists the entries of its policies, which must be
/// constants of static storage.
#define WEFT_POLICY_MODULE(...)                                                                              \
    namespace {                                                                                              \
    constexpr auto weft_module_entries = [](const auto&... entries) {                                        \
        return std::array<const ::weft::policy_entry*, sizeof...(entries)>{&entries...};                     \
    }(__VA_ARGS__);                                                                                          \
    }                                                                                                        \
    extern "C" {                                                                                             \
    [[gnu::visibility("default")]] extern const ::weft::policy_module weft_policy_module;                    \
    constinit const ::weft::policy_module weft_policy_module = {                                             \
        ::weft::policy_abi, static_cast<std::uint32_t>(weft_module_entries.size()),                          \
        ::weft::layout_of_policies(), weft_module_entries.data(), &::weft::host_of_this_module};             \
    }                                                                                                        \
    static_assert(true)
