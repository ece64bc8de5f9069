#pragma once

#include "policy/parts/data_task.hpp"
#include "policy/parts/fair_turns.hpp"
#include "policy/parts/headed_groups.hpp"
#include "policy/parts/iterated_program.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/root_pool.hpp"
#include "policy/parts/subtree_activity.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/locked_list.hpp"
#include "queue/sync.hpp"

#include "machine/domains.hpp"
#include "machine/machine.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// The triple-level stealing of LAWS: within the subtree of a socket, then the socket's next subtree, then
/// those of other sockets.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.7. The
///   rules that it follows: laws.cpp.
///
/// Not here: to which socket a task belongs, and whether it is a CF root. Its data_task says so when the task
/// is put. Any worker may put a task; each worker takes only for itself.
namespace weft {

class triple_level_stealing {
    using kind = data_task::kind;

public:
    struct settings {
        root_pool::order order = root_pool::order::youngest;
        bool keeps = false; ///< L7 of laws.cpp
        bool lazy = false;  ///< victims may hide entries, which a thief asks for
    };

    /// Allocates: for policy::attach. `sockets` are all workers; `program` must outlive this.
    void attach(const machine& m, policy_context& context, const std::vector<workers>& sockets,
                const iterated_program& program, settings s) {
        machine_ = &m;
        context_ = &context;
        program_ = &program;
        set_ = s;
        places_.attach(context);
        on_.attach(sockets, context);
        sockets_ = std::make_unique<socket[]>(sockets.size());
        members_ = std::make_unique<member[]>(static_cast<std::size_t>(context.all().size()));
        const domains nodes(m, domain_kind::memory_node);
        for (int i = 0; i < on_.count(); ++i) {
            socket& at = socket_at(i);
            at.roots.attach(set_.order);
            at.workers_of = on_.members(i);
            at.place = places_.root_place() + 1 + i;
            at.node = nodes.of(context.core_of(on_.head(i)));
            for (worker_id w = at.workers_of.first; w < at.workers_of.last; ++w) of(w).at = &at;
        }
    }

    /// For the next pass over the data, or the next root (L5 of laws.cpp). A socket that was offered nothing in the last
    /// one does not wait. A pass in which no socket was offered anything has not begun yet.
    void begin_pass(bool again) noexcept {
        const auto is_unused = [](const socket& s) { return s.offered.load_relaxed() == 0; };
        if (again && std::all_of(sockets_.get(), sockets_.get() + on_.count(), is_unused)) return;
        for (int i = 0; i < on_.count(); ++i) {
            socket& s = socket_at(i);
            s.has_begun.store_relaxed(again && s.offered.load_relaxed() == 0);
            s.offered.store_relaxed(0);
        }
    }

    /// While data are allocated, a frame of another socket cannot be taken (L1 and L2 of laws.cpp).
    workers victims(worker_id w) const {
        return program_->allocates() ? on_.members(on_.of(w)) : context_->all();
    }

    decision next(worker_id w, bool last_look) {
        member& m = of(w);
        socket& s = *m.at;
        if (m.idle) {
            m.idle = false;
            s.idle.add(-1);
        }
        leave(w, m);
        const decision found = next_of(w, m, s, last_look);
        m.failed_looks = found.t == nullptr ? m.failed_looks + 1 : 0;
        return found;
    }

    // ---- putting

    /// A task of no program that allocates.
    placement put_anywhere(worker_id w, task& t, ready_reason reason) { return places_.put(w, t, reason); }

    placement offer_to_heads(task& t) noexcept {
        const auto home = static_cast<int>(t.data<data_task>().socket);
        socket& s = socket_at(home);
        const bool head_takes_it = s.idle.load_relaxed() > 0 && s.roots.empty();
        if (t.data<data_task>().is == kind::packed) s.offered.add(1);
        s.roots.put(t);
        if (!head_takes_it)
            for (int i = 0; i < on_.count(); ++i)
                if (i != home && socket_at(i).idle.load_relaxed() > 0) wake_head(socket_at(i));
        const worker_id head = is_left(s) ? 0 : s.workers_of.first;
        return {s.place + on_.count(), {head, head + 1}};
    }

    placement offer_to_socket(worker_id w, task& t, ready_reason reason) noexcept {
        const auto& mine = t.data<data_task>(); // another worker's after the push
        socket& s = socket_at(mine.socket);
        const bool is_spread = mine.is == kind::spread;
        if (is_spread)
            s.offered.add(1);
        else
            s.activity.enter();
        if (goes_behind(reason)) {
            of(w).turns.yielded();
            s.behind.push_back(&t);
            if (s.activity.yielded(fair_turns::yields_to_look)) wake_head(s);
        } else {
            s.tasks.push_front(&t);
        }
        if (is_spread && s.tasks.size() > 1 && program_->may_cross()) call_another(s);
        // Other sockets are not in this range: a worker that is woken for a task and may not take it wakes
        // no other (L5 of laws.cpp).
        return {s.place, is_left(s) ? context_->active() : s.workers_of}; // L6 of laws.cpp
    }

private:
    struct alignas(queue::k_cache_line_bytes) socket {
        root_pool roots;
        queue::locked_list<task> tasks;  // any worker puts; those of the socket take, from the front
        queue::locked_list<task> behind; // likewise: tasks that yielded
        subtree_activity activity;       // L3 of laws.cpp
        queue::cell<int> idle;           // workers whose last look found nothing, a hint
        queue::cell<bool> has_begun;     // L5 of laws.cpp
        queue::cell<int> offered;        // tasks with data, since the pass began
        workers workers_of;              // fixed, as is what follows
        int node = 0;                    // of memory
        place_id place = 0;
    };
    struct alignas(queue::k_cache_line_bytes) member { // only its worker touches it
        socket* at = nullptr;
        socket* holds = nullptr;   // the socket in which its task is counted as active
        bool idle = false;         // it counts in `idle`
        fair_turns turns;          // its yields: of the socket's tasks
        unsigned failed_looks = 0; // in a row
    };

    member& of(worker_id w) noexcept { return members_[static_cast<std::size_t>(w)]; }
    socket& socket_at(int i) noexcept { return sockets_[static_cast<std::size_t>(i)]; }
    int number_of(const socket& s) const noexcept { return static_cast<int>(&s - sockets_.get()); }
    /// True if the head is inactive. Since the head is the lowest worker, no worker of the socket is active
    /// then, and any worker takes the tasks that lie there. A worker that puts a task there asks afterwards.
    /// If the socket's workers leave later than that, resized() is called later.
    bool is_left(const socket& s) const noexcept {
        queue::std_sync::fence(std::memory_order::seq_cst); // pairs with that of the engine before resized()
        return s.workers_of.first >= context_->active().last;
    }

    /// More tasks lie there than the socket takes at once.
    void call_another(const socket& s) noexcept {
        for (int i = 1; i < on_.count(); ++i) {
            const socket& other = socket_at((number_of(s) + i) % on_.count());
            if (!other.has_begun.load_relaxed() || other.idle.load_relaxed() <= 0) continue;
            return context_->wake(other.workers_of);
        }
    }

    static bool is_head_of(const socket& s, worker_id w) noexcept { return s.workers_of.first == w; }
    void wake_head(const socket& s) const { on_.wake_head(number_of(s)); }

    /// The caller's last task has ended, or waits.
    void leave(worker_id w, member& m) noexcept {
        socket* const of = std::exchange(m.holds, nullptr);
        if (of != nullptr && of->activity.leave() && !is_head_of(*of, w)) wake_head(*of); // L4 of laws.cpp
    }

    /// A worker gets `t`, which belongs to the socket that counts it.
    decision keep(member& m, task& t, place_id from) noexcept {
        const auto& mine = t.data<data_task>();
        m.holds = mine.is == kind::packed ? &socket_at(mine.socket) : nullptr;
        if (t.data<data_task>().is != kind::above && !m.at->has_begun.load_relaxed())
            m.at->has_begun.store_relaxed(true);
        return {&t, from};
    }

    /// A head takes `t` out of the pool of `from`. A subtree belongs to the socket that begins it.
    decision begin(member& m, task& t, const socket& from) noexcept {
        auto& mine = t.data<data_task>();
        mine.socket = static_cast<std::int16_t>(number_of(*m.at));
        if (mine.is == kind::packed) {
            m.at->activity.enter();
            m.at->roots.began(mine.data);
        }
        return keep(m, t, from.place + on_.count());
    }

    /// Ensures that neither roots nor yielded tasks wait for ever behind tasks of the socket.
    decision in_turn(worker_id w, member& m, turn now) noexcept {
        if (now == turn::usual) return {};
        if (now == turn::even_fair) return places_.own(w, true);
        task* const t = m.at->behind.try_pop_front();
        return t != nullptr ? keep(m, *t, m.at->place) : decision{};
    }

    decision next_of(worker_id w, member& m, socket& s, bool last_look) {
        const bool head = is_head_of(s, w);
        const turn now = m.turns.begin();
        if (const decision fair = in_turn(w, m, now); fair.t != nullptr) return fair;
        if (task* const t = s.tasks.try_pop_front()) return keep(m, *t, s.place);
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        const bool takes_roots = head && s.activity.may_begin(fair_turns::yields_to_look);
        if (takes_roots)
            if (task* const t = now == turn::usual ? s.roots.take_next() : s.roots.take_oldest())
                return begin(m, *t, s);
        const bool waits = m.turns.sees_only_yields() && !last_look;
        if (waits) {
            m.turns.looked_elsewhere();
        } else if (task* const t = s.behind.try_pop_front()) {
            return keep(m, *t, s.place);
        }
        return last_look ? look_everywhere(w, m, takes_roots) : look_once(w, m, takes_roots);
    }

    decision look_once(worker_id w, member& m, bool takes_roots) noexcept {
        const bool allocating = program_->allocates();
        const int members = context_->all().size();
        if (on_.count() > 1 && m.turns.begun() % 2 == 0 &&
            (allocating || context_->active().size() < members)) {
            return take_from(m, socket_at(on_.random_other(w)), takes_roots, false);
        }
        const workers near = m.at->workers_of;
        const bool anywhere = !allocating || m.turns.begun() % 4 == 1 || near.size() == 1;
        const worker_id victim = anywhere ? places_.random_victim(w) : on_.random_neighbour(w);
        if (victim < 0) return {};
        const places::look_result found = places_.look(victim);
        const bool may_ask =
            set_.lazy && (!allocating || near.contains(victim)); // otherwise no frame is hidden
        return {found.t, victim, may_ask && found.t == nullptr && !found.lost};
    }

    /// Whether a head may take a CF root that is kept for another socket (L7 of laws.cpp).
    bool may_take_kept(const member& m, const socket& from) const noexcept {
        if (!set_.keeps) return true;
        if (m.failed_looks >= places::failed_looks_before_remote_steal) return true;
        const int here = m.at->node, there = from.node;
        const auto near_gbps = machine_->memory_nodes()[static_cast<std::size_t>(there)].bandwidth_gbps;
        const auto far_gbps = machine_->node_bandwidth_gbps(here, there);
        const double slower = near_gbps && far_gbps ? *near_gbps / *far_gbps : 1;
        const double times_as_long = std::max(slower, machine_->node_distance(here, there) / 10);
        return static_cast<double>(from.roots.size()) >= times_as_long;
    }

    /// Takes a task from another socket.
    decision take_from(member& m, socket& other, bool takes_roots, bool last_look) noexcept {
        const bool left = is_left(other), has_begun = left || m.at->has_begun.load_relaxed();
        if (takes_roots) {
            const bool takes_any = has_begun && (left || last_look || may_take_kept(m, other));
            task* const t = takes_any ? other.roots.take_for_other() : other.roots.take_above();
            if (t != nullptr) return begin(m, *t, other);
        }
        if (!left && !(program_->may_cross() && has_begun)) return {nullptr, other.place};
        task* t = other.tasks.try_pop_back();
        if (t == nullptr) t = other.behind.try_pop_front();
        if (t == nullptr) return {nullptr, other.place};
        return keep(m, *t, other.place);
    }

    decision look_everywhere(worker_id w, member& m, bool takes_roots) noexcept {
        for (int i = 1; i < on_.count(); ++i) {
            socket& other = socket_at((number_of(*m.at) + i) % on_.count());
            if (const decision got = take_from(m, other, takes_roots, true); got.t != nullptr) return got;
        }
        const worker_id first = places_.random_victim(w);
        if (first >= 0)
            if (const decision got = places_.look_everywhere(w, first); got.t != nullptr) return got;
        m.idle = true;
        m.at->idle.add(1);
        return {};
    }

    const machine* machine_ = nullptr;
    policy_context* context_ = nullptr;
    const iterated_program* program_ = nullptr;
    settings set_;
    places places_;
    headed_groups on_;
    std::unique_ptr<member[]> members_;
    std::unique_ptr<socket[]> sockets_;
};

} // namespace weft
