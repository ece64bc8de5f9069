#include "policy/parts/fair_turns.hpp"
#include "policy/parts/worker_domains.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/chain.hpp"
#include "queue/locked_list.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

/// Multi-threaded shepherds: one last-in-first-out queue for the workers of a socket, and one thief for all
/// of them.
///
///   S. L. Olivier, A. K. Porterfield, K. B. Wheeler, J. F. Prins: Scheduling task parallelism on
///   multi-socket multicore systems. ROSS 2011; Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel
///   Architectures. Springer 2017, 3.2.2.
///
/// The workers of a socket push and pop at the same end of its queue, so together they proceed depth-first.
/// The first worker that finds the queue empty becomes the thief. It alone looks at other sockets, one in
/// each call, until it has something. It takes the oldest tasks of its victim, as many as its socket has
/// workers. It keeps the youngest of them for itself, and puts the others, in their order, into the queue of
/// its socket.
///
/// I1. At most one worker of a socket is its thief. A worker gives the role back when it takes a task, begins
///     one, or is about to sleep. Another worker takes the role from an inactive thief.
/// I2. A last look goes everywhere, whichever worker is the thief. Otherwise a worker would sleep beside
///     tasks that it may take, because a thief that was given another task still held the role.
/// I3. Tasks on their way between sockets are in no queue for a moment. A worker that found no task at that
///     moment, and sleeps, is woken when they have arrived.
///
/// In the book the head core steals in one paragraph, and the first idle worker in another; here it is the
/// first idle worker. Roots wait in a queue of their own for any free worker, and tasks that yielded in a
/// queue of their socket: the rules about both are those of places.hpp.
namespace weft::policies {
namespace {

constexpr knob mts_knobs[] = {
    {"spawn", "parent-first", "parent-first, child-first",
     "what a spawn puts into the queue: the child or the parent"},
    {"probe", "random", "random, nearest",
     "which socket the thief looks at: any, or each in turn from the nearest on"},
};

class shepherds final : public policy {
public:
    shepherds(spawn_order spawn, bool nearest) : spawn_(spawn), nearest_(nearest) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        sockets_.attach(m, context, domain_kind::last_level_cache);
        queues_ = std::make_unique<queue_of_socket[]>(static_cast<std::size_t>(sockets_.count()));
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(context.all().size()));
        return {.demotable = true, .resizable = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (reason == ready_reason::root) {
            roots_.push_back(&t);
            return {root_place(), context_->active()};
        }
        const int socket = sockets_.of(w);
        if (goes_behind(reason)) {
            mine(w).turns.yielded();
            at(socket).behind.push_back(&t);
        } else {
            at(socket).tasks.push_back(&t);
        }
        return {place_of(socket), context_->active()};
    }

    decision next(worker_id w, bool last_look) override {
        const int socket = sockets_.of(w);
        const decision own = take_near(w, socket, last_look);
        const decision found = own.t != nullptr ? own : take_far(w, socket, last_look); // I2
        if (found.t != nullptr || last_look) give_back(w);
        return found;
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_; }

    void started(worker_id w, task&) override { give_back(w); } // of the gate, without next()

private:
    struct alignas(queue::k_cache_line_bytes) queue_of_socket {
        queue::locked_list<task> tasks;  // oldest in front
        queue::locked_list<task> behind; // what yielded
        queue::cell<worker_id> thief;    // + 1; 0: none
    };
    struct alignas(queue::k_cache_line_bytes) worker_part { // only its worker touches it
        fair_turns turns;
        unsigned probes = 0;
        int thief_for = -1; // the socket, -1: for none
    };

    queue_of_socket& at(int socket) noexcept { return queues_[static_cast<std::size_t>(socket)]; }
    worker_part& mine(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    place_id root_place() const noexcept { return context_->all().size(); }
    place_id place_of(int socket) const noexcept { return root_place() + 1 + socket; }

    /// The queue of the socket, a root, what yielded.
    decision take_near(worker_id w, int socket, bool last_look) noexcept {
        worker_part& me = mine(w);
        queue_of_socket& q = at(socket);
        const auto root = [&]() -> decision { return {roots_.try_pop_front(), root_place()}; };
        const auto yielded = [&]() -> decision { return {q.behind.try_pop_front(), place_of(socket)}; };
        if (const turn now = me.turns.begin(); now != turn::usual) {
            const bool roots_first = now == turn::odd_fair;
            if (const decision first = roots_first ? root() : yielded(); first.t != nullptr) return first;
            if (const decision second = roots_first ? yielded() : root(); second.t != nullptr) return second;
        }
        if (task* const t = q.tasks.try_pop_back()) return {t, place_of(socket)};
        if (me.turns.sees_only_yields() && !last_look) {
            me.turns.looked_elsewhere();
            return {};
        }
        if (const decision first = root(); first.t != nullptr) return first;
        return yielded();
    }

    decision take_far(worker_id w, int socket, bool last_look) {
        const auto& others = sockets_.others(socket);
        if (others.empty()) return {};
        if (last_look) { // I2
            for (const int other : others)
                if (task* const t = steal(socket, other)) return {t, place_of(other)};
            return {};
        }
        if (!is_thief(w, socket)) return {};
        worker_part& me = mine(w);
        const auto choice = static_cast<std::uint32_t>(others.size());
        const int victim = others[nearest_ ? me.probes++ % choice : context_->random(w, choice)];
        return {steal(socket, victim), place_of(victim)};
    }

    /// The youngest of the batch; the rest goes to the thief's socket.
    task* steal(int thief, int victim) {
        queue_of_socket& from = at(victim);
        if (from.tasks.empty()) return from.behind.try_pop_front();
        queue::chain<task> batch;
        task* youngest = nullptr;
        for (int wanted = std::max(1, sockets_.workers_in(thief)); wanted > 0; --wanted) {
            task* const t = from.tasks.try_pop_front();
            if (t == nullptr) break;
            if (youngest != nullptr) batch.push_back(youngest);
            youngest = t;
        }
        if (!batch.empty()) {
            at(thief).tasks.push_back(std::move(batch));
            context_->wake(context_->active()); // I3
        }
        return youngest != nullptr ? youngest : from.behind.try_pop_front();
    }

    bool is_thief(worker_id w, int socket) noexcept { // I1
        worker_part& me = mine(w);
        auto& thief = at(socket).thief;
        worker_id holder = thief.load_relaxed();
        if (holder == w + 1) return true; // no other worker writes that
        give_back(w);                     // it has moved to another socket
        if (holder != 0 && holder <= context_->active().last) return false;
        if (!thief.compare_exchange(holder, w + 1)) return false; // I1: from none, or from an inactive worker
        me.thief_for = socket;
        return true;
    }

    void give_back(worker_id w) noexcept {
        worker_part& me = mine(w);
        if (me.thief_for < 0) return;
        worker_id own = w + 1; // it may have been taken away
        at(me.thief_for).thief.compare_exchange(own, 0);
        me.thief_for = -1;
        me.probes = 0;
    }

    const spawn_order spawn_;
    const bool nearest_;
    policy_context* context_ = nullptr;
    worker_domains sockets_;
    std::unique_ptr<queue_of_socket[]> queues_;
    std::unique_ptr<worker_part[]> mine_;
    queue::locked_list<task> roots_;
};

} // namespace

extern constinit const policy_entry mts_entry{
    .name = "mts",
    .summary = "a shared queue for each socket, whose only thief takes enough for all of its workers",
    .source = "Olivier et al.: multi-threaded shepherds, ROSS 2011; Chen & Guo 2017, 3.2.2",
    .helps = "machines of several sockets: neighbours share a cache, and far steals are few",
    .knobs = mts_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<shepherds>(values.is("spawn", "parent-first") ? spawn_order::parent_first
                                                                              : spawn_order::child_first,
                                           values.is("probe", "nearest"));
    },
};

} // namespace weft::policies
