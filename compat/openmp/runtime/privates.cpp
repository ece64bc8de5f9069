#include "runtime/privates.hpp"

#include "runtime/team.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

namespace weft::openmp {

namespace {

struct memory_deleter {
    void operator()(std::byte* p) const noexcept { std::free(p); }
};
using memory = std::unique_ptr<std::byte, memory_deleter>;

memory allocate(std::size_t bytes) {
    constexpr std::size_t line = 64;
    auto* const p = static_cast<std::byte*>(
        std::aligned_alloc(line, (std::max<std::size_t>(bytes, 1) + line - 1) / line * line));
    if (!p) throw std::bad_alloc();
    return memory(p);
}

/// What the process knows of a variable.
struct variable {
    private_class how{};
    memory first_bytes{};
};

struct process_variables {
    std::mutex lock{};
    std::unordered_map<const void*, variable> all{};
};

process_variables& variables() {
    static auto* const all = new process_variables; // threads may end after the static objects
    return *all;
}

} // namespace

struct private_data {
    struct copy {
        memory at{};
        private_class how{};
    };
    std::unordered_map<const void*, copy> copies{};
};

void register_privates(void* original, const private_class& how) {
    process_variables& v = variables();
    const std::lock_guard guard(v.lock);
    v.all[original].how = how;
}

void* private_copy(const region& me, void* original, std::size_t bytes) {
    process_variables& v = variables();
    // The seat of a thread belongs to the code that holds it, but for those of an outer thread 0, which waits.
    seat& mine = const_cast<seat&>(thread_of(*me.on));
    const std::lock_guard guard(v.lock);
    variable& of = v.all[original];
    const bool is_object = of.how.construct || of.how.construct_elements;
    if (!is_object && !of.first_bytes) {
        of.first_bytes = allocate(bytes);
        std::memcpy(of.first_bytes.get(), original, bytes);
    }
    if (mine.is_of_first_thread) return original;
    if (!mine.privates) mine.privates = new private_data;
    private_data::copy& c = mine.privates->copies[original];
    if (c.at) return c.at.get();
    c.at = allocate(bytes);
    c.how = of.how;
    if (c.how.construct_elements)
        c.how.construct_elements(c.at.get(), c.how.elements);
    else if (c.how.construct)
        c.how.construct(c.at.get());
    else
        std::memcpy(c.at.get(), of.first_bytes.get(), bytes);
    return c.at.get();
}

void free_privates(seat& s) noexcept {
    if (!s.privates) return;
    for (auto& [original, c] : s.privates->copies) {
        if (c.how.destroy_elements)
            c.how.destroy_elements(c.at.get(), c.how.elements);
        else if (c.how.destroy)
            c.how.destroy(c.at.get());
    }
    delete s.privates;
    s.privates = nullptr;
}

} // namespace weft::openmp
