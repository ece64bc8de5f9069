#include "replay/player.hpp"

#include "trace/write/record.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>

namespace weft::replay {

namespace {

constexpr row to_the_end = no_row;

/// Addresses of user programs have 47 bits.
constexpr int address_bits = 48;

const void* pointer(std::uint64_t a) { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(a)); }

hints as_hints(const hint& h, const script& s, std::uint64_t first_address) {
    hints out;
    out.work = h.work;
    out.bytes = h.bytes;
    out.name = s.names[h.name];
    out.priority = h.priority;
    out.children = h.children;
    if (h.data_bytes > 0) {
        out.data_begin = pointer(first_address + h.data_begin);
        out.data_end = pointer(first_address + h.data_begin + h.data_bytes);
    }
    return out;
}

} // namespace

player::player(const script& s, double cycles_per_ns, int program)
    : script_(s)
    , cycles_per_ns_(cycles_per_ns)
    , first_address_(static_cast<std::uint64_t>(program) << address_bits)
    , groups_(s.groups.size())
    , graphs_(s.graphs.size())
    , group_hints_(s.groups.size()) {
    for (std::size_t g = 0; g < s.groups.size(); ++g)
        group_hints_[g] = as_hints(s.groups[g], s, first_address_);
    for (std::uint32_t i = 0; i < s.signals; ++i) signals_.emplace_back(0);
}

void player::play(const batch::root& r) {
    if (r.is_graph) {
        attempt([&] { start(r.number); });
        attempt([&] { finish(r.number); });
    } else {
        play(r.number);
    }
}

void player::clean_up() {
    // What is waited for may hand in more: futures_ grows at its end.
    for (std::size_t f = 0; f < futures_.size(); ++f) attempt([&] { futures_[f].get(); });
    for (std::uint32_t g = 0; g < graphs_.size(); ++g) attempt([&] { finish(g); });
    for (std::uint32_t g = 0; g < groups_.size(); ++g) attempt([&] { wait(g); });
}

void player::rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
}

template <class F>
void player::attempt(F&& f) {
    try {
        return f();
    } catch (...) {
        if (failure_) return;
        failure_ = std::current_exception();
    }
    // What was to give a signal may not run any more.
    for (counting_semaphore<>& s : signals_) s.release();
}

void player::play(row t) { play(script_.tasks[t].first, script_.tasks[t].last, to_the_end); }

std::uint32_t player::play(std::uint32_t i, std::uint32_t end, row until) {
    while (i < end) {
        const action& a = script_.actions[i];
        if (a.what == act::fork) {
            i = fork(i, end);
            continue;
        }
        if (a.what == act::join) {
            if (a.n == until) return i + 1;
            if (until != to_the_end) return i;
        } else {
            attempt([&] { carry_out(a); });
        }
        ++i;
    }
    return i;
}

void player::carry_out(const action& a) {
    switch (a.what) {
    case act::compute: return cost(cycles(a.a));
    case act::cost: return cost(a.a, static_cast<work>(a.how));
    case act::touch: return touch(address(a.a), a.b, static_cast<access>(a.how));
    case act::transfer: return transfer(script_.names[a.n], a.a);
    case act::home: return set_home(a);
    case act::iteration: return iteration(static_cast<int>(a.a));
    case act::spawn: return spawn(static_cast<std::uint32_t>(a.a), a.n);
    case act::wait: return wait(a.n);
    case act::async: futures_.push_back(weft::async([this, t = a.n] { play(t); })); return;
    case act::start: return start(a.n);
    case act::finish: return finish(a.n);
    case act::add:
        if (const auto g = graphs_[a.a])
            add(*g, a.n); // keeps the graph, which another task may finish meanwhile
        return;
    case act::release: return signals_[a.n].release();
    case act::await: return signals_[a.n].acquire();
    case act::sleep: return this_task::sleep_for(std::chrono::nanoseconds(a.a));
    case act::yield: return this_task::yield();
    case act::fork:
    case act::join: return; // play()
    }
}

std::uint32_t player::fork(std::uint32_t i, std::uint32_t end) {
    const row second = script_.actions[i].n;
    std::uint32_t next = i + 1;
    weft::join([&] { next = play(i + 1, end, second); }, [this, second] { play(second); },
               {.second = hints_of(second)});
    return next;
}

void player::spawn(std::uint32_t group, row t) {
    std::shared_ptr<live_group>& known = groups_[group];
    if (!known) known = std::make_shared<live_group>(group_hints_[group]);
    const auto kept =
        known; // the spawn may suspend this task, and the task that waits may be done before it resumes
    kept->group.run([this, t] { play(t); }, hints_of(t));
}

void player::wait(std::uint32_t group) {
    const auto kept = groups_[group];
    // A group has one task that waits. A trace from which events were lost may give two groups one number.
    if (!kept || std::exchange(kept->is_awaited, true)) return;
    kept->group.wait();
    if (groups_[group] == kept) groups_[group].reset();
}

void player::set_home(const action& a) {
    if (a.n == trace::all_nodes)
        interleave(address(a.a), a.b);
    else
        bind_to_node(address(a.a), a.b, static_cast<int>(a.n));
}

/// A fraction of a cycle that one stretch leaves is added to the next one.
std::uint64_t player::cycles(std::uint64_t ns) {
    constexpr double most = 0x1p63; // far beyond the end of the model's clock
    const double due = std::min(static_cast<double>(ns) * cycles_per_ns_ + fraction_, most);
    const auto whole = static_cast<std::uint64_t>(due);
    fraction_ = due - static_cast<double>(whole);
    return whole;
}

hints player::hints_of(row t) const { return as_hints(script_.tasks[t].hints, script_, first_address_); }

const void* player::address(std::uint64_t a) const noexcept { return pointer(first_address_ + a); }

// ---- graphs

void player::start(std::uint32_t g) {
    const auto made = graphs_[g] = std::make_shared<live_graph>();
    for (const row t : script_.graphs[g]) add(*made, t);
    made->dag.start();
}

void player::finish(std::uint32_t g) {
    const auto kept = graphs_[g];
    if (!kept || std::exchange(kept->is_awaited, true)) return;
    kept->dag.wait();
    graphs_[g].reset();
}

void player::add(live_graph& to, row t) {
    std::vector<impl::data_clause> uses;
    for (const use& u : of_task(script_.uses, t)) {
        const auto mode = static_cast<impl::data_mode>(u.mode);
        if (u.first)
            uses.push_back({address(u.first), u.bytes, mode, nullptr});
        else
            uses.push_back(impl::data_clause::of(to.data[u.datum], mode));
    }
    std::vector<graph_task> after;
    for (const edge& e : of_task(script_.edges, t))
        if (const auto before = to.tasks.find(e.after); before != to.tasks.end())
            after.push_back(before->second);
    std::vector<impl::needs_clause> needs;
    std::vector<impl::cores_clause> cores;
    bool is_moldable = false;
    for (const need& n : of_task(script_.needs, t)) {
        if (!n.is_cores) {
            needs.push_back({script_.names[n.name], n.amount});
            continue;
        }
        cores.push_back({.count = static_cast<int>(n.amount),
                         .where = static_cast<within>(n.within),
                         .is_relaxed = (n.how & 1) != 0,
                         .is_hint = (n.how & 2) != 0});
        is_moldable = (n.how & 4) != 0;
    }
    graph_task& added = to.tasks[t];
    if (is_moldable)
        added = to.dag.add(moldable([this, t](int rank, int width) { play_share(t, rank, width); }),
                           hints_of(t), uses, after, needs, cores);
    else
        added = to.dag.add([this, t] { play(t); }, hints_of(t), uses, after, needs, cores);
}

/// If the width differs from the recorded one, the ranks play the recorded shares in turn.
void player::play_share(row t, int rank, int width) {
    const auto others = of_task(script_.shares, t);
    for (std::size_t share = static_cast<std::size_t>(rank); share <= others.size();
         share += static_cast<std::size_t>(width))
        play(share == 0 ? t : others[share - 1].task);
}

} // namespace weft::replay
