#include "policy/seam/load_module.hpp"

#include "machine/nearest_name.hpp"
#include "policy/seam/module.hpp"
#include "policy/seam/registry.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <system_error>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

namespace weft {

namespace {

constexpr const char* a_module = "a shared object with WEFT_POLICY_MODULE, see docs/adding-a-policy.md";

[[noreturn]] void refuse(const std::string& path, std::string_view what, std::string_view given,
                         std::string_view allowed) {
    throw error(fmt::format("policy module '{}' {}", path, what), given, allowed);
}

/// The part of an ELF header that is the same for all processors.
struct elf_header {
    unsigned char ident[EI_NIDENT];
    ElfW(Half) type;
    ElfW(Half) machine;
};

elf_header header_of(const std::filesystem::path& file) {
    elf_header header{};
    std::ifstream in(file, std::ios::binary);
    in.read(reinterpret_cast<char*>(&header), sizeof header);
    if (!in) header = {};
    return header;
}

bool is_elf(const elf_header& h) { return std::memcmp(h.ident, ELFMAG, SELFMAG) == 0; }

/// What dlopen() says about these is hard to understand.
void check_file(const std::string& path) {
    std::error_code failure;
    if (!std::filesystem::is_regular_file(path, failure))
        refuse(path, "is not there", path, "the path of a shared object");
    const elf_header its = header_of(path), ours = header_of("/proc/self/exe");
    if (!is_elf(its) || its.type != ET_DYN) refuse(path, "is no shared object", path, a_module);
    const auto kind = [](const elf_header& h) {
        return fmt::format("ELF class {}, byte order {}, machine {}", h.ident[EI_CLASS], h.ident[EI_DATA],
                           h.machine);
    };
    if (is_elf(ours) && kind(its) != kind(ours))
        refuse(path, "is for other processors", kind(its), fmt::format("{}, as this program", kind(ours)));
}

constexpr policy_host host{.make_policy = [](std::string_view spec) { return make_policy(spec); }};

void check_entries(const std::string& path, std::span<const policy_entry* const> entries) {
    if (entries.empty()) refuse(path, "has no policy", "an empty list", "at least one entry");
    for (const policy_entry* e : entries)
        if (e == nullptr || !is_policy_name(e->name) || e->make == nullptr)
            refuse(path, "has a malformed entry", e == nullptr ? "null" : fmt::format("'{}'", e->name),
                   "a name of lower-case letters, digits and '-', and a function that makes the policy");
}

} // namespace

std::span<const policy_entry* const> load_policy_module(const std::string& path) {
    check_file(path);
    // A path without '/' would be searched for in the directories of libraries. Loading it again gives the same object.
    const std::string file = std::filesystem::absolute(path).string();
    void* const object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (object == nullptr)
        refuse(path, "cannot be loaded", dlerror(),
               "an object whose symbols are all defined in it or in the libraries that it names");
    const auto* const module = static_cast<const policy_module*>(dlsym(object, "weft_policy_module"));
    if (module == nullptr) refuse(path, "is no policy module", "no symbol 'weft_policy_module'", a_module);
    if (module->abi != policy_abi)
        refuse(path, "was built for another version of Weft",
               fmt::format("version {} of the policies' interface", module->abi),
               fmt::format("version {}: build the module again with the headers of this Weft", policy_abi));
    if (module->layout != layout_of_policies())
        refuse(
            path, "was built with another standard library or other settings of the compiler",
            fmt::format("strings {}, sizes {:x}", module->layout.strings, module->layout.sizes),
            fmt::format("strings {}, sizes {:x}", layout_of_policies().strings, layout_of_policies().sizes));
    const std::span entries(module->entries, module->count);
    check_entries(path, entries);
    module->host->store_release(&host); // pairs with the load in make_host_policy
    return entries;
}

const policy_entry& find_in_module(const std::string& path, std::string_view name) {
    const auto entries = load_policy_module(path);
    std::vector<std::string_view> names;
    for (const policy_entry* e : entries) {
        if (e->name == name || (name.empty() && entries.size() == 1)) return *e;
        names.push_back(e->name);
    }
    if (name.empty())
        refuse(path, "has several policies", "no name",
               fmt::format("{}:NAME, of {}", path, fmt::join(names, ", ")));
    const std::string_view nearest = nearest_name(name, names);
    refuse(path,
           nearest.empty() ? "has no such policy"
                           : fmt::format("has no such policy, did you mean '{}'?", nearest),
           fmt::format("'{}'", name), fmt::format("{}", fmt::join(names, ", ")));
}

} // namespace weft
