#include "replay/player.hpp"

#include "trace/write/record.hpp"

#include <chrono>
#include <cstddef>

namespace weft::replay {

namespace {

constexpr row to_the_end = no_row;

const void* address(std::uint64_t a) { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(a)); }

hints as_hints(const hint& h, const script& s) {
    hints out;
    out.work = h.work;
    out.bytes = h.bytes;
    out.name = s.names[h.name];
    out.priority = h.priority;
    out.children = h.children;
    if (h.data_bytes > 0) {
        out.data_begin = address(h.data_begin);
        out.data_end = address(h.data_begin + h.data_bytes);
    }
    return out;
}

} // namespace

player::player(const script& s, double cycles_per_ns)
    : script_(s)
    , cycles_per_ns_(cycles_per_ns)
    , groups_(s.groups.size())
    , graphs_(s.graphs.size())
    , group_hints_(s.groups.size()) {
    for (std::size_t g = 0; g < s.groups.size(); ++g) group_hints_[g] = as_hints(s.groups[g], s);
    for (std::uint32_t i = 0; i < s.signals; ++i) signals_.emplace_back(0);
}

void player::play(const batch::root& r) {
    if (r.is_graph) {
        start(r.number);
        finish(r.number);
    } else {
        play(r.number);
    }
}

void player::clean_up() {
    futures_.clear();
    for (auto& g : graphs_) g.reset();
    for (auto& g : groups_) g.reset();
}

void player::play(row t) { play(script_.tasks[t].first, script_.tasks[t].last, to_the_end); }

std::uint32_t player::play(std::uint32_t i, std::uint32_t end, row until) {
    while (i < end) {
        const action& a = script_.actions[i];
        switch (a.what) {
        case act::compute: cost(cycles(a.a)); break;
        case act::cost: cost(a.a, static_cast<work>(a.how)); break;
        case act::touch: touch(address(a.a), a.b, static_cast<access>(a.how)); break;
        case act::transfer: transfer(script_.names[a.n], a.a); break;
        case act::home: set_home(a); break;
        case act::iteration: iteration(static_cast<int>(a.a)); break;
        case act::spawn:
            group_of(static_cast<std::uint32_t>(a.a)).run([this, t = a.n] { play(t); }, hints_of(a.n));
            break;
        case act::wait: wait(a.n); break;
        case act::fork: i = fork(i, end); continue;
        case act::join:
            if (a.n == until) return i + 1;
            if (until != to_the_end) return i;
            break;
        case act::async: futures_.push_back(weft::async([this, t = a.n] { play(t); })); break;
        case act::start: start(a.n); break;
        case act::finish: finish(a.n); break;
        case act::add:
            if (auto& g = graphs_[a.a]) add(*g, a.n);
            break;
        case act::release: signals_[a.n].release(); break;
        case act::await: signals_[a.n].acquire(); break;
        case act::sleep: this_task::sleep_for(std::chrono::nanoseconds(a.a)); break;
        case act::yield: this_task::yield(); break;
        }
        ++i;
    }
    return i;
}

std::uint32_t player::fork(std::uint32_t i, std::uint32_t end) {
    const row second = script_.actions[i].n;
    std::uint32_t next = i + 1;
    weft::join([&] { next = play(i + 1, end, second); }, [this, second] { play(second); },
               {.second = hints_of(second)});
    return next;
}

void player::wait(std::uint32_t group) {
    if (groups_[group]) groups_[group]->wait();
    groups_[group].reset();
}

void player::set_home(const action& a) {
    if (a.n == trace::all_nodes)
        interleave(address(a.a), a.b);
    else
        bind_to_node(address(a.a), a.b, static_cast<int>(a.n));
}

/// A fraction of a cycle that one stretch leaves is added to the next one.
std::uint64_t player::cycles(std::uint64_t ns) {
    const double due = static_cast<double>(ns) * cycles_per_ns_ + fraction_;
    const auto whole = static_cast<std::uint64_t>(due);
    fraction_ = due - static_cast<double>(whole);
    return whole;
}

hints player::hints_of(row t) const { return as_hints(script_.tasks[t].hints, script_); }

task_group& player::group_of(std::uint32_t g) {
    if (!groups_[g]) groups_[g] = std::make_unique<task_group>(group_hints_[g]);
    return *groups_[g];
}

// ---- graphs

void player::start(std::uint32_t g) {
    graphs_[g] = std::make_unique<live_graph>();
    for (const row t : script_.graphs[g]) add(*graphs_[g], t);
    graphs_[g]->dag.start();
}

void player::finish(std::uint32_t g) {
    if (graphs_[g]) graphs_[g]->dag.wait();
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
