#include "kmpc/shared_object.hpp"
#include "kmpc/tasks.hpp"
#include "runtime/team.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

/// Task reductions: the variables of a taskgroup, or of a construct with reduction(task, ...), of which each thread that runs a task
/// with in_reduction has a copy. A copy is made when the thread first asks for it.
///
/// A group has a list of variables, and the copies of the threads. The threads of a construct have groups and lists of their own, since
/// each of them reduces into its own variables, and share the copies. The thread that leaves last combines them, into its own.
namespace weft::openmp {

namespace {

using initialise = void (*)(void*, void*);
using finish = void (*)(void*);
using combine = void (*)(void*, void*);

struct item {
    void* variable;
    void* original; ///< for the initialiser; null with compilers before clang 10
    std::size_t bytes;
    initialise init;
    finish end;
    combine add;
};

constexpr std::size_t line = 64;
constexpr std::size_t padded(std::size_t n) noexcept { return (n + line - 1) / line * line; }

struct memory_deleter {
    void operator()(std::byte* p) const noexcept { std::free(p); }
};

} // namespace

/// What all threads of a team have of the variables. A copy is touched by the code that holds its seat, and at last by the thread that
/// combines.
struct reduction_copies : kmpc::shared_object {
    struct of_item {
        std::unique_ptr<std::byte, memory_deleter> memory{};
        std::vector<char> is_made{}; ///< by thread; not bits, which several threads would share
    };
    std::vector<of_item> items{};
    std::size_t threads;

    reduction_copies(const std::vector<item>& all, int n) : threads(static_cast<std::size_t>(n)) {
        for (const item& i : all) {
            const std::size_t bytes = std::max(padded(i.bytes), line) * threads;
            auto* const p = static_cast<std::byte*>(std::aligned_alloc(line, bytes));
            if (!p) throw std::bad_alloc();
            std::fill_n(p, bytes, std::byte{0});
            items.push_back({std::unique_ptr<std::byte, memory_deleter>(p), std::vector<char>(threads, 0)});
        }
    }
    std::byte* at(std::size_t i, std::size_t thread, std::size_t bytes) noexcept {
        return items[i].memory.get() + thread * std::max(padded(bytes), line);
    }
};

struct reduction_set {
    std::vector<item> items{};
    reduction_copies* copies = nullptr;
    bool is_shared = false;

    bool is_copy(std::size_t i, const void* p) const noexcept {
        const auto* const from = copies->items[i].memory.get();
        const auto* const to = from + copies->threads * std::max(padded(items[i].bytes), line);
        return p >= from && p < to;
    }
    void* copy_of(const void* address, std::size_t thread) {
        for (std::size_t i = 0; i < items.size(); ++i) {
            const item& v = items[i];
            if (address != v.variable && (!v.original || address != v.original) && !is_copy(i, address))
                continue;
            std::byte* const mine = copies->at(i, thread, v.bytes);
            char& is_made = copies->items[i].is_made[thread];
            if (!std::exchange(is_made, 1) && v.init) v.init(mine, v.original);
            return mine;
        }
        return nullptr;
    }
    void combine_all() {
        for (std::size_t i = 0; i < items.size(); ++i)
            for (std::size_t t = 0; t < copies->threads; ++t) {
                if (!copies->items[i].is_made[t]) continue;
                std::byte* const part = copies->at(i, t, items[i].bytes);
                items[i].add(items[i].variable, part);
                if (items[i].end) items[i].end(part);
            }
    }
};

} // namespace weft::openmp

using namespace weft::openmp;
using namespace weft::openmp::kmpc;

namespace weft::openmp::kmpc {

void end_taskgroup(region& me) {
    task_group* const g = me.group;
    const std::unique_ptr<reduction_set> set(g ? g->reduction_set
                                               : nullptr); // its tasks use it until the group has ended
    end_group(me);
    if (!set) return;
    if (set->is_shared && !set->copies->leave()) return;
    set->combine_all();
    delete set->copies;
}

} // namespace weft::openmp::kmpc

namespace {

/// As the compiler describes a variable, before clang 10 and since then.
struct old_input {
    void* variable;
    std::size_t bytes;
    initialise init;
    finish end;
    combine add;
    std::uint32_t flags;
};
struct input {
    void* variable;
    void* original;
    std::size_t bytes;
    initialise init;
    finish end;
    combine add;
    std::uint32_t flags;
};
static_assert(sizeof(old_input) == 48 && sizeof(input) == 56);

item item_of(const old_input& i) noexcept { return {i.variable, nullptr, i.bytes, i.init, i.end, i.add}; }
item item_of(const input& i) noexcept { return {i.variable, i.original, i.bytes, i.init, i.end, i.add}; }

template <class Input>
std::unique_ptr<reduction_set> set_of(std::int32_t count, const void* data) {
    auto set = std::make_unique<reduction_set>();
    const auto* const all = static_cast<const Input*>(data);
    for (std::int32_t i = 0; i < count; ++i) set->items.push_back(item_of(all[i]));
    return set;
}

/// For the taskgroup of the caller.
template <class Input>
void* register_in_group(std::int32_t count, const void* data) {
    region& me = current_region();
    auto set = set_of<Input>(count, data);
    set->copies = new reduction_copies(set->items, me.in->size);
    me.group->reduction_set = set.release();
    return me.group;
}

/// For a construct of the team, of which the caller is one thread.
template <class Input>
void* register_in_construct(std::int32_t count, const void* data) {
    region& me = current_region();
    auto set = set_of<Input>(count, data);
    set->is_shared = true;
    set->copies =
        &come_to<reduction_copies>(me, [&] { return new reduction_copies(set->items, me.in->size); });
    begin_group(me, true);
    me.group->reduction_set = set.release();
    return me.group;
}

} // namespace

extern "C" {

void* __kmpc_task_reduction_init(gtid, std::int32_t count, void* data) {
    return register_in_group<old_input>(count, data);
}
void* __kmpc_taskred_init(gtid, std::int32_t count, void* data) {
    return register_in_group<input>(count, data);
}
void* __kmpc_task_reduction_modifier_init(location*, gtid, std::int32_t, std::int32_t count, void* data) {
    return register_in_construct<old_input>(count, data);
}
void* __kmpc_taskred_modifier_init(location*, gtid, std::int32_t, std::int32_t count, void* data) {
    return register_in_construct<input>(count, data);
}
void __kmpc_task_reduction_modifier_fini(location*, gtid, std::int32_t) { end_taskgroup(current_region()); }

/// The copy of the caller's thread. `group` null: of the innermost group.
void* __kmpc_task_reduction_get_th_data(gtid, void* group, void* address) {
    const region& me = current_region();
    const auto thread = static_cast<std::size_t>(me.on->number);
    for (auto* g = group ? static_cast<task_group*>(group) : me.group; g; g = g->outer)
        if (g->reduction_set && thread < g->reduction_set->copies->threads)
            if (void* const copy = g->reduction_set->copy_of(address, thread)) return copy;
    std::fprintf(stderr, "weft: OpenMP: no task_reduction, or reduction with the modifier task, for %p\n",
                 address);
    std::abort();
}

void __kmpc_end_taskgroup(location*, gtid) { end_taskgroup(current_region()); }

} // extern "C"
