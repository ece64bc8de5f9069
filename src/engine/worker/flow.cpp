#include "engine/worker/flow.hpp"

#include "engine/ports/host.hpp"
#include "engine/ports/observation.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/task_record.hpp"
#include "task/sanitizers.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft::engine {

namespace {

struct body {
    void (*run)(void* graph, std::uint32_t number);
    void* graph;
    std::uint32_t number;
};

} // namespace

task& make_flow_task(worker* w, engine& home, group& of, const flow_task& f) {
    static_assert(sizeof(body) % alignof(data_access) == 0 && std::is_trivially_destructible_v<data_access>);
    task& t = make_task(w, home, sizeof(body) + f.uses * sizeof(data_access), alignof(std::max_align_t));
    ::new (t.closure_) body{f.run, f.graph, f.number};
    t.call_ = [](void* at) {
        const body own = *static_cast<body*>(at);
        own.run(own.graph, own.number);
    };
    if (f.uses > 0) {
        const sanitizer::unseen of_policies; // compiled to a memset
        auto* const first =
            reinterpret_cast<data_access*>(static_cast<std::byte*>(t.closure_) + sizeof(body));
        for (std::size_t i = 0; i < f.uses; ++i) ::new (first + i) data_access{};
        t.uses_ = {first, f.uses};
    }
    adopt(t, nullptr, &of, *f.hint);
    if (f.hint->preempt == preemption::runtime_default) t.preempt_ = f.preempts;
    t.scope_ = &of;
    // A run that outlives the team in which it began continues in the outermost arena. (T5)
    t.arena_ = f.in && f.in->is_team() && f.in->try_retain(f.incarnation) ? f.in : &home.outermost;
    t.id_ = graph_task_id(f.number);
    t.claim_ = f.at_gate;
    t.claims_ = f.claims;
    t.root_ = f.root;
    t.graph_ = f.graph_id;
    t.graph_number_ = f.number;
    t.bottom_level_ = f.bottom_level;
    t.silent_ = home.zone().lazy;
    return t;
}

task& make_flow_share(worker* w, engine& home, const task& of) {
    task& t = make_task(w, home, sizeof(body), alignof(std::max_align_t));
    ::new (t.closure_) body(*static_cast<const body*>(of.closure_));
    t.call_ = of.call_;
    t.group_ = of.group_;
    t.scope_ = of.scope_;
    t.hint_ = of.hint_;
    t.claim_ = of.claim_;
    t.id_ = of.id_;
    t.level_ = of.level_;
    t.root_ = of.root_;
    t.preempt_ = of.preempt_;
    t.graph_ = of.graph_;
    t.graph_number_ = of.graph_number_;
    t.bottom_level_ = of.bottom_level_;
    t.silent_ = of.silent_;
    t.arrives_as_ = of.arrives_as_;
    return t;
}

void make_moldable(worker* w, engine& home, task& t, int width) {
    t.molds_ = true;
    t.width_ = static_cast<std::int16_t>(std::min(width, max_width));
    for (int i = 1; i < home.need.most_width; ++i) {
        task& spare = make_flow_share(w, home, t);
        spare.arena_ = t.arena_;
        spare.spare_ = std::exchange(t.spare_, &spare);
    }
}

void submit_flow_task(worker* w, engine& home, group& of, task& t) {
    of.open_.fetch_add(1, std::memory_order_relaxed); // above 0 already (G1)
    if (!w || &w->engine != &home) return home.host.submit(t, ready_reason::released);
    if (of.flags_.load(std::memory_order_relaxed) &
        group::flag_outside) // the root was the graph's first task alone
        t.prolongs_run_ = home.observation.run_continues();
    offer(*w, t, ready_reason::released);
}

void start_flow(engine& home, group& of, const flow_task& f) {
    if (worker* w = impl::hot_self(); w && &w->engine == &home) {
        w = &enter_runtime();
        task& t = make_flow_task(w, home, of, f);
        note_spawn(*w, t, trace::origin::runtime, nullptr, 0);
        submit_flow_task(w, home, of, t);
        return leave_runtime();
    }
    of.flags_.fetch_or(group::flag_outside, std::memory_order_relaxed); // `home` is the default engine
    task& t = make_flow_task(nullptr, home, of, f);
    of.open_.fetch_add(1, std::memory_order_relaxed); // the wait is still to come (G1)
    submit_root(home, t, 0);
}

} // namespace weft::engine
