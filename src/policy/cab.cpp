#include "policy/parts/bi_tier.hpp"
#include "policy/parts/id_table.hpp"
#include "policy/parts/miss_intensity.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/worker_groups.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cell.hpp"
#include "queue/locked_list.hpp"
#include "queue/sync.hpp"

#include <weft/impl/group.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

/// CAB: cache-aware bi-tier stealing.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, chapter 3:
///   the boundary by Eqs. 3.4 (fto), 3.5 (gto) and 3.6 (profile), the stealing by 3.3.2 and Table 3.3.
///
/// The tree of tasks is cut into subtrees that fit a last-level cache (bi_tier.hpp). Tasks above and at the
/// cut are spawned parent-first into the pool of their socket, from which only the heads take, the lowest
/// worker of each socket, first in first out. What is below runs child-first on the workers of one socket
/// only.
///
/// C1  Only heads take from the inter-socket pools, their own or another one.
/// C2  A socket works on one intra-socket subtree at a time: its head takes no leaf inter-socket task while
///     one that began there is unfinished.
///
/// Resolved where the source is silent, contradicts itself, or would hang:
///
/// - Only leaf inter-socket tasks make a socket busy. Those above them take the head's time only while they
///   run; the head takes them also while its socket is busy, since the others wait for what they spawn.
/// - Who waited above the boundary goes on from the pool of the socket where it began, ahead of it. For who
///   has not begun C1 holds; who has may hold a lock, so other workers of that socket take it before they
///   sleep.
/// - A subtree of which a task waits for something else than its children (a lock, a future, a timer), or
///   whose tasks yielded yields_to_share times on one worker, shares its socket from then on: what it waits
///   for may be kept back otherwise. Programs of forks and joins never come to that, so C2 holds for them
///   always.
/// - A child of somebody else's group, the tasks of graphs and what comes of them belong to no subtree: they
///   are stolen at random by everybody, child-first ("free" below). So is what is measured in the first
///   iteration, parent-first.
/// - Which of the subtrees in a pool a head takes is left open, and so is where they come to lie in the next
///   iteration. The gains of iterated programs are those of data that are still in the socket's cache, so a
///   subtree goes to the pool of the socket which last had the one at the same place (keep). Others leave it
///   there, unless their part of the tree is not the larger one with it: to wait for a subtree costs less
///   than to fetch its data, which would lie elsewhere ever after. Who has looked in vain failed_looks_before_remote_steal times,
///   or is about to sleep, takes it.
/// - The rule for general trees may give fewer subtrees than sockets. Unless subtrees=0, a subtree is at most
///   that part of the tree, by how its tasks branch: measured sizes differ a little from one sweep to the
///   next, and would cut it elsewhere each time.
/// - A program that the first iteration shows to be CPU-bound (miss_intensity.hpp) is stolen at random from
///   then on (3.8.2.3); how that is decided, the source does not say.
/// - Sizes that nobody knows: those of one cache for each subtree that is wanted, halved at each level.
namespace weft::policies {
namespace {

constexpr knob cab_knobs[] = {
    {"mode", "fto", "fto, gto, profile",
     "the boundary by level, by declared bytes, or by what the first iteration missed"},
    {"boundary", "-1", "-1..64", "fto: the boundary level, 0 is random stealing; -1: by Eq. 3.4"},
    {"first", "1", "1..64", "fto: level of the recursion's root, where main is 0"},
    {"degree", "2", "2..1000", "branching of tasks that do not declare it"},
    {"main", "1", "1..1000", "branching of the root, likewise"},
    {"bytes", "0", "0..1000000000000000", "all data of the program; 0: as declared"},
    {"cache", "0", "0..1000000000000000", "bytes of a socket's last-level cache; 0: of the machine"},
    {"subtrees", "-1", "-1..100000",
     "gto, profile: at least so many; -1: one a socket, 0: as many as there are"},
    {"cmpi", "1000", "0..1000000",
     "profile: a task with fewer misses in a million instructions is CPU-bound; if most are, they are stolen "
     "at random"},
    {"socket", "0", "0..100000", "workers of a socket; 0: those under one last-level cache"},
    {"alloc", "steal", "steal, even",
     "even: in the first iteration subtrees go to sockets by their position"},
    {"keep", "on", "on, off",
     "on: a subtree goes to the socket that last had the one at its place in the tree"},
    zone_knob("reported: spawns below the boundary are shown, too (for traces and tests)"),
};

enum class kind : std::uint8_t {
    free,     ///< also what nobody told of: graph tasks
    inter,    ///< roots, too
    leaf,     ///< leaf inter-socket
    intra,    ///< below a leaf
    measured, ///< of an iteration that is profiled
    plain,    ///< of a program that its first iteration has shown to be CPU-bound: by chance
};

/// What the tasks of a group have come to where they are measured. They add it here and not to their parent:
/// a group may be somebody else's, and then its owner, who was the first to add a task, may end before them.
struct group_part {
    queue::cell<std::uint64_t> sum, instructions, cpu_bound; ///< as in part
    bool owner_waits;                                        ///< so it is there at the end
};

struct part {         ///< of a task's bytes. Never changed while the task is silent: frames are copies
    const task* self; ///< leaf: that makes its socket busy; plain root; a copy is of somebody else
    double soid;      ///< size of involved data; 0: unknown
    double total;     ///< that of the whole tree
    queue::cell<std::uint64_t> sum; ///< measured: of the children, relaxed: read when they have ended
    queue::cell<std::uint64_t> instructions, cpu_bound; ///< likewise; the latter: those of CPU-bound tasks
    float from, width;                                  ///< what part of the tree it is, in serial order
    std::int32_t socket;                                ///< + 1; 0: none yet
    std::int16_t boundary;
    kind is;
    std::uint8_t iterations; ///< marked so far
};
static_assert(sizeof(part) <= max_task_bytes);

enum class partition : std::uint8_t { fto, gto, profile };

struct settings {
    partition mode;
    int boundary, first, degree, main;
    double bytes, cache;
    double misses_per_instruction;
    int subtrees, socket;
    bool even, keep, lazy;
};

class cab final : public policy {
public:
    explicit cab(const settings& s) : set_(s) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        intra_.attach(context);
        free_.attach(context);
        const std::vector<workers> groups =
            set_.socket > 0 ? groups_of_size(context, set_.socket)
                            : groups_in_domains(context, domains(m, domain_kind::last_level_cache));
        count_ = static_cast<int>(groups.size());
        sockets_ = std::make_unique<one_socket[]>(groups.size());
        mine_ = std::make_unique<worker_part[]>(static_cast<std::size_t>(context.all().size()));
        for (int s = 0; s < count_; ++s) {
            at(s).members = groups[static_cast<std::size_t>(s)];
            for (worker_id w = at(s).members.first; w < at(s).members.last; ++w) of(w).socket = s;
        }
        find_cache(m);
        if (set_.subtrees < 0 || (set_.subtrees == 0 && set_.cache <= 0)) set_.subtrees = count_;
        random_ = count_ < 2 || (set_.mode == partition::fto && set_.boundary == 0);
        if (set_.mode == partition::profile) measured_ = std::make_unique<id_table>();
        if (set_.keep && !random_) kept_ = std::make_unique<id_table>();
        return {.task_bytes = sizeof(part),
                .group_bytes =
                    set_.mode == partition::profile ? std::uint16_t{sizeof(group_part)} : std::uint16_t{0},
                .lazy = random_ && set_.lazy,
                .own_misses = set_.mode == partition::profile,
                .demotable = true,
                .resizable = false};
    }

    // ---- where tasks are kept

    placement ready(worker_id w, task& t, ready_reason reason) override {
        part& own = t.data<part>();
        if (random_) return free_.put(w, t, reason);
        if (reason == ready_reason::root) {
            own.is = kind::inter;
            own.soid = own.total = set_.bytes;
            own.width = 1;
            return free_.put(w, t, reason);
        }
        // A frame has the bytes of its task, and may lie where an ended leaf of these bytes lay.
        if (reason == ready_reason::exposed && t.fresh() && own.is == kind::leaf) own.is = kind::intra;
        switch (own.is) {
        case kind::inter: return put_inter(w, t, reason);
        case kind::leaf:
            if (own.self == nullptr) return put_inter(w, t, reason); // it has not begun
            return put_in_socket(w, t, reason);
        case kind::intra: return put_in_socket(w, t, reason);
        case kind::measured:
            if (own.socket > 0) return put_in_socket(w, t, reason);
            break;
        case kind::plain: return free_.put(w, t, reason);
        case kind::free: break;
        }
        if (!has_free_.load_relaxed()) has_free_.store_relaxed(true); // a hint: a last look goes by itself
        return free_.put(w, t, reason);
    }

    decision next(worker_id w, bool last_look) override {
        if (random_) return next_at_random(w, last_look);
        worker_part& me = of(w);
        const decision found = next_of(w, me, last_look);
        me.vain = found.t == nullptr ? me.vain + 1 : 0;
        return found;
    }

    workers victims(worker_id w) override {
        return random_ || plain_.load_relaxed() > 0 ? context_->all() : at(of(w).socket).members;
    }

    // ---- what a spawn does

    spawn_order spawn(worker_id, task& parent, task& child) override {
        if (random_) return below();
        const part& p = parent.data<part>();
        part& c = child.data<part>();
        if (child.parent_group() == nullptr || child.parent_group()->owner() != &parent)
            return spawn_order::child_first;
        switch (p.is) {
        case kind::free: return spawn_order::child_first;
        case kind::leaf:
        case kind::intra:
            c.is = kind::intra;
            c.socket = p.socket;
            return below();
        case kind::plain: c.is = kind::plain; return below();
        case kind::inter:
        case kind::measured: break;
        }
        find_position(parent, child);
        classify(parent, child);
        return c.is == kind::free ? spawn_order::child_first : spawn_order::parent_first;
    }

    void started(worker_id w, task& t) override {
        if (random_) return;
        part& own = t.data<part>();
        if (own.is == kind::inter) own.socket = of(w).socket + 1;
        if (own.is != kind::leaf || own.self != nullptr) return;
        own.self = &t;
        own.socket = of(w).socket + 1;
        one_socket& s = at(of(w).socket);
        if (kept_) keep_here(own);
        // Nobody of this subtree has run yet, and if it is the only one, nobody of another one is left.
        if (s.unfinished.add(1) == 0) s.shares.store_relaxed(false);
    }

    void blocked(worker_id, task& t, ready_reason reason) override {
        if (random_ || reason == ready_reason::joined || reason == ready_reason::moved ||
            reason == ready_reason::yielded)
            return;
        const part& own = t.data<part>();
        if (own.is == kind::leaf || own.is == kind::intra) share(at(own.socket - 1));
    }

    void finished(worker_id, task& t, const usage& used) override {
        part& own = t.data<part>();
        if (own.is == kind::measured && !used.cancelled) return add_to_group(t, own, used);
        if (own.is == kind::plain && own.self == &t) return count_plain(-1);
        if (own.is != kind::leaf || own.self != &t) return;
        one_socket& s = at(own.socket - 1);
        s.unfinished.add(-1);
        context_->wake(
            {s.members.first, s.members.first + 1}); // with a fence: it sees the count, or is woken
    }

    after_wait group_wait(worker_id, task& t, group& g) override {
        if (set_.mode == partition::profile) g.data<group_part>().owner_waits = g.owner() == &t;
        return after_wait::stay;
    }

    void group_end(worker_id, task& owner, group& g) override {
        if (set_.mode != partition::profile) return;
        const auto& its = g.data<group_part>(); // its tasks have ended
        if (!its.owner_waits) return;
        part& up = owner.data<part>();
        up.sum.add(its.sum.load_relaxed());
        up.instructions.add(its.instructions.load_relaxed());
        up.cpu_bound.add(its.cpu_bound.load_relaxed());
    }

    void iteration(worker_id, task& root, int) override {
        part& own = root.data<part>();
        if (own.is == kind::plain) return;
        if (own.iterations == 1 && is_cpu_bound(own)) {
            own.is = kind::plain;
            own.self = &root;
            return count_plain(1);
        }
        if (own.iterations < 2) ++own.iterations;
        if (const std::uint64_t sum = own.sum.load_relaxed(); sum > 0) // its children have ended
            own.total = own.soid = static_cast<double>(sum);
    }

private:
    static constexpr unsigned yields_to_share = 16;

    struct alignas(queue::k_cache_line_bytes) one_socket {
        workers members;                      // fixed; the first is the head
        queue::cell<std::int32_t> unfinished; // leaf inter-socket tasks that began here and have not ended
        queue::cell<bool> shares;             // one of them waits for something else than its children
        queue::cell<std::int64_t> kept;       // the width of all that are kept here, in size_of()
        queue::locked_list<task> pool;        // inter-socket tasks; anybody puts in, C1
        queue::locked_list<task> arrivals;    // of the subtrees here, made ready elsewhere; taken by the crew
    };
    struct alignas(queue::k_cache_line_bytes) worker_part { // the worker's alone
        int socket = 0;                                     // fixed
        unsigned turns = 0;
        unsigned vain = 0;         // looks since one found something
        unsigned yields = 0;       // of tasks in a subtree
        unsigned inter_yields = 0; // since the last call that left the pool alone
    };

    one_socket& at(int s) noexcept { return sockets_[static_cast<std::size_t>(s)]; }
    worker_part& of(worker_id w) noexcept { return mine_[static_cast<std::size_t>(w)]; }
    bool is_head(worker_id w) noexcept { return at(of(w).socket).members.first == w; }
    spawn_order below() const noexcept { return set_.lazy ? spawn_order::lazy : spawn_order::child_first; }

    // Up to free_.root_place() places are of workers and of all.
    place_id pool_place(int s) const noexcept { return free_.root_place() + 1 + s; }
    place_id arrivals_place(int s) const noexcept { return free_.root_place() + 1 + count_ + s; }

    /// 3.8.2.3; the children of the root that was measured have ended.
    bool is_cpu_bound(const part& root) const noexcept {
        return computes_mostly(root.cpu_bound.load_relaxed(), root.instructions.load_relaxed());
    }

    /// Of the roots that are plain.
    void count_plain(int change) {
        plain_.add(change);
        context_->wake(context_->all()); // their victims are others now
    }

    void find_cache(const machine& m) {
        if (set_.cache > 0) return;
        for (worker_id w = 0; w < context_->all().size(); ++w) {
            const cache* const c = m.last_level_cache_of(context_->core_of(w));
            if (c == nullptr || c->bytes <= 0) continue;
            const auto bytes = static_cast<double>(c->bytes);
            set_.cache = set_.cache > 0 ? std::min(set_.cache, bytes) : bytes;
        }
    }

    /// C2 allows another subtree here.
    static bool is_open(const one_socket& s) noexcept {
        return s.unfinished.load_relaxed() == 0 || s.shares.load_relaxed(); // see share() and finished()
    }

    void share(one_socket& s) {
        if (s.shares.load_relaxed()) return;
        s.shares.store_relaxed(true);
        context_->wake({s.members.first, s.members.first + 1}); // with a fence: it sees the flag, or is woken
    }

    placement put_inter(worker_id w, task& t, ready_reason reason) {
        part& own = t.data<part>();
        const bool yields = reason == ready_reason::yielded;
        if (yields) ++of(w).inter_yields;
        int home = own.socket > 0 ? own.socket - 1 : of(w).socket;
        if (set_.even && own.is == kind::leaf && own.iterations < 2)
            home = socket_at(own);
        else if (const auto last = kept_ && own.is == kind::leaf ? kept_->find(place_of(own)) : 0; last > 0)
            home = static_cast<int>(last) - 1;
        one_socket& s = at(home);
        const bool fresh = t.fresh();
        if (fresh || yields)
            s.pool.push_back(&t);
        else
            s.pool.push_front(&t);
        // The other heads: the engine wakes within one range.
        for (int o = 0; o < count_; ++o)
            if (o != home) context_->wake({at(o).members.first, at(o).members.first + 1});
        const worker_id head = s.members.first;
        return {pool_place(home), fresh ? workers{head, head + 1} : s.members, head};
    }

    placement put_in_socket(worker_id w, task& t, ready_reason reason) {
        const int home = t.data<part>().socket - 1;
        one_socket& s = at(home);
        if (reason == ready_reason::yielded && ++of(w).yields % yields_to_share == 0) share(s);
        if (of(w).socket != home) {
            s.arrivals.push_back(&t);
            return {arrivals_place(home), s.members, s.members.first};
        }
        const placement p = intra_.put(w, t, reason);
        return {p.at, s.members};
    }

    decision next_of(worker_id w, worker_part& me, bool last_look) {
        one_socket& s = at(me.socket);
        const bool fair = ++me.turns % places::turns_to_fair == 0;
        if (fair)
            if (const decision p = from_shared(w, me, s, last_look); p.t != nullptr) return p;
        if (const decision p = intra_.own(w, last_look); p.t != nullptr) return p;
        if (const decision p = from_shared(w, me, s, last_look); p.t != nullptr) return p;
        return last_look ? look_everywhere(w, me, s) : look_once(w, me, s);
    }

    /// What is taken before a look elsewhere, beside the own tasks of a subtree.
    decision from_shared(worker_id w, worker_part& me, one_socket& s, bool last_look) {
        if (task* const t = s.arrivals.try_pop_front()) return {t, arrivals_place(me.socket)};
        if (me.inter_yields >= places::yields_to_look && !last_look)
            me.inter_yields = 0; // the head's tasks only yield to each other
        else if (task* const t = from_pool(w, s))
            return {t, pool_place(me.socket)};
        return free_.own(w, last_look);
    }

    /// Of the worker's own socket: C1 and C2.
    task* from_pool(worker_id w, one_socket& s) {
        if (!is_head(w)) return nullptr;
        const bool open = is_open(s);
        return s.pool.pop_first_if([&](const task& t) { return open || t.data<part>().is != kind::leaf; });
    }

    /// A head takes from another socket's pool; `robs`: also what that one had better keep.
    task* from_other_pool(one_socket& own, one_socket& other, bool robs) {
        const bool open = is_open(own);
        const std::int64_t more = other.kept.load_relaxed() - own.kept.load_relaxed();
        return other.pool.pop_first_if([&](const task& t) {
            const part& p = t.data<part>();
            if (p.is != kind::leaf) return true;
            return open && (robs || !kept_ || kept_->find(place_of(p)) == 0 || 2 * size_of(p) <= more);
        });
    }

    decision look_once(worker_id w, worker_part& me, one_socket& s) {
        const auto mates = static_cast<std::uint32_t>(s.members.size() - 1);
        const unsigned turn = me.turns;
        const bool plain = plain_.load_relaxed() > 0;
        // Where a socket has no subtree, it hardly looks for one beside a program that has none.
        const bool by_chance = plain && s.unfinished.load_relaxed() == 0
                                   ? turn % 8 != 1
                                   : (plain || has_free_.load_relaxed()) && turn % 2 == 0;
        if (by_chance) {
            const worker_id v = free_.random_victim(w);
            const places::look_result got = free_.look(v);
            return {got.t, v, got.t == nullptr && !got.lost && plain && set_.lazy};
        }
        if (w == s.members.first && (turn / 2 % 2 == 0 || mates == 0)) {
            const auto drawn = static_cast<int>(context_->random(w, static_cast<std::uint32_t>(count_ - 1)));
            const int other = drawn < me.socket ? drawn : drawn + 1;
            return {from_other_pool(s, at(other), me.vain >= places::failed_looks_before_remote_steal),
                    pool_place(other)};
        }
        if (mates == 0) return {};
        worker_id v = s.members.first + static_cast<worker_id>(context_->random(w, mates));
        if (v >= w) ++v;
        const places::look_result got = intra_.look(v);
        const bool hides = s.unfinished.load_relaxed() > 0 && set_.lazy; // else nobody here is silent
        return {got.t, v, got.t == nullptr && !got.lost && hides};
    }

    decision look_everywhere(worker_id w, worker_part& me, one_socket& s) {
        for (worker_id v = s.members.first; v < s.members.last; ++v)
            if (task* const t = v == w ? nullptr : intra_.look_hard(v)) return {t, v};
        if (w == s.members.first) {
            for (int i = 1; i < count_; ++i) {
                const int other = (me.socket + i) % count_;
                if (task* const t = from_other_pool(s, at(other), true)) return {t, pool_place(other)};
            }
        } else if (task* const t = s.pool.pop_first_if([](const task& x) { return !x.fresh(); })) {
            return {t, pool_place(me.socket)};
        }
        return free_.look_everywhere(w, w);
    }

    decision next_at_random(worker_id w, bool last_look) {
        if (const decision own = free_.own(w, last_look); own.t != nullptr) return own;
        const worker_id victim = free_.random_victim(w);
        if (victim < 0) return {};
        if (last_look) return free_.look_everywhere(w, victim);
        const places::look_result found = free_.look(victim);
        return {found.t, victim, found.t == nullptr && !found.lost && set_.lazy};
    }

    // ---- the partition

    int branching(const task& parent, const task& child) const noexcept {
        if (parent.hint().children > 0) return parent.hint().children;
        if (child.parent_group()->hint().children > 0) return child.parent_group()->hint().children;
        return is_root(parent) ? set_.main : set_.degree;
    }
    static bool is_root(const task& t) noexcept { return t.parent() == nullptr && t.level() == 0; }

    void find_position(task& parent, task& child) const noexcept {
        const part& p = parent.data<part>();
        part& c = child.data<part>();
        const auto of = static_cast<float>(branching(parent, child));
        const auto i = std::min(static_cast<float>(child.index()), of - 1);
        c.from = p.from + p.width * i / of;
        c.width = p.width / of;
        c.iterations = p.iterations;
    }
    /// What part of the tree it is, as a key. The same for all trees that are divided alike: sweeps, half
    /// sweeps, and the program's first touch of its data.
    static std::uint64_t place_of(const part& t) noexcept {
        const std::uint64_t both = std::uint64_t{std::bit_cast<std::uint32_t>(t.from)} << 32 |
                                   std::bit_cast<std::uint32_t>(t.width); // not 0: a part has a width
        return both * 0x9e3779b97f4a7c15U >> 16; // the table wants the low bits to differ
    }
    /// A subtree begins on its socket, and is at home there from now on. Trees of the same shape that run at
    /// the same time are taken for one, and blur what sockets seem to have.
    void keep_here(const part& t) {
        const auto was = kept_->find(place_of(t)), now = static_cast<std::uint64_t>(t.socket);
        if (was == now) return;
        kept_->insert(place_of(t), now);
        if (was == 0 && kept_->find(place_of(t)) == 0) return; // there is no room for it
        if (was > 0) at(static_cast<int>(was) - 1).kept.add(-size_of(t));
        at(t.socket - 1).kept.add(size_of(t));
    }
    /// Of its part of the tree, where the whole is 2^40.
    static std::int64_t size_of(const part& t) noexcept {
        return static_cast<std::int64_t>(t.width * static_cast<float>(std::int64_t{1} << 40));
    }
    int socket_at(const part& t) const noexcept {
        return std::clamp(static_cast<int>((t.from + t.width / 2) * static_cast<float>(count_)), 0,
                          count_ - 1);
    }
    /// One whole part of the tree, or less than that.
    bool fits_a_socket(const part& t) const noexcept {
        const auto sockets = static_cast<float>(count_);
        return std::floor(t.from * sockets + 0.001F) + 1.001F >= (t.from + t.width) * sockets;
    }

    void classify(task& parent, task& child) {
        const part& p = parent.data<part>();
        part& c = child.data<part>();
        if (set_.mode == partition::fto) return by_level(p, child);
        const auto measured = static_cast<double>(measured_ ? measured_->find(child.id()) : 0);
        if (p.is == kind::measured || (measured_ && p.total == 0)) {
            c.is = kind::measured;
            c.socket = set_.even && fits_a_socket(c) ? socket_at(c) + 1 : 0;
            return;
        }
        const auto declared = static_cast<double>(measured_ ? 0 : child.hint().bytes);
        const double inherited = p.soid / branching(parent, child);
        c.soid = measured > 0 ? measured : declared > 0 ? declared : inherited;
        if (!(c.soid > 0)) c.soid = std::max(set_.cache, 1.0) * std::max(set_.subtrees, 1);
        // What a root spawns one by one are trees of their own, all over the same data.
        const bool is_whole = is_root(parent) && branching(parent, child) == 1;
        c.total = p.total > 0 && !is_whole ? p.total : c.soid;
        if (set_.subtrees == 0 && c.total <= set_.cache) {
            c.is = kind::free; // all of it fits one cache: it would be one subtree, on one socket
            return;
        }
        const bool fits = bi_tier::is_subtree(c.soid, set_.cache, c.width, set_.subtrees);
        c.is = fits ? kind::leaf : kind::inter; // the parent is above the boundary
    }

    void by_level(const part& p, task& child) const noexcept {
        part& c = child.data<part>();
        c.is = kind::inter;
        if (child.level() < set_.first) return;
        c.boundary = p.boundary > 0 ? p.boundary : boundary_of(child);
        if (child.level() >= c.boundary) c.is = kind::leaf;
    }

    std::int16_t boundary_of(const task& child) const noexcept {
        if (set_.boundary > 0) return static_cast<std::int16_t>(set_.boundary);
        const int declared = child.hint().children;
        const auto degree = static_cast<std::uint64_t>(declared > 1 ? declared : set_.degree);
        const double bytes = set_.bytes > 0 ? set_.bytes : static_cast<double>(child.hint().bytes);
        const int level = bi_tier::boundary_level(degree, static_cast<std::uint64_t>(count_),
                                                  static_cast<std::uint64_t>(bytes),
                                                  static_cast<std::uint64_t>(set_.cache));
        return static_cast<std::int16_t>(level + set_.first - 1);
    }

    /// Eq. 3.6. Where nothing was counted, leaves are taken to touch what they declare.
    void add_to_group(task& t, part& own, const usage& used) noexcept {
        const std::uint64_t below = own.sum.load_relaxed(); // its children have ended
        std::uint64_t alone = used.misses.value_or(0) * line_bytes;
        if (below + alone == 0) alone = t.hint().bytes;
        measured_->insert(t.id(), below + alone);
        if (t.parent_group() == nullptr || t.parent() == nullptr) return; // of no group that begins
        auto& up = t.parent_group()->data<group_part>();
        up.sum.add(below + alone);
        const std::uint64_t computed = used.instructions.value_or(0);
        const bool cpu_bound = weft::is_cpu_bound(alone / line_bytes, computed, set_.misses_per_instruction);
        up.instructions.add(own.instructions.load_relaxed() + computed);
        up.cpu_bound.add(own.cpu_bound.load_relaxed() + (cpu_bound ? computed : 0));
    }

    static constexpr std::uint64_t line_bytes = 64;

    settings set_;
    bool random_ = false; // L_b = 0
    policy_context* context_ = nullptr;
    places intra_, free_;
    int count_ = 0;
    std::unique_ptr<one_socket[]> sockets_;
    std::unique_ptr<worker_part[]> mine_;
    std::unique_ptr<id_table> measured_; ///< bytes
    std::unique_ptr<id_table> kept_; ///< by place_of(): socket + 1 where a leaf inter-socket task began last
    queue::cell<bool> has_free_;
    queue::cell<int> plain_; ///< roots
};

} // namespace

extern constinit const policy_entry cab_entry{
    .name = "cab",
    .summary = "subtrees that fit the last-level cache, one at a time on each socket",
    .source = "Chen & Guo 2017, chapter 3",
    .wants = "bytes and children of tasks; or iterations",
    .helps = "several sockets, and divide and conquer over data that neighbouring tasks share",
    .knobs = cab_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        const auto number = [&](const char* key) { return static_cast<int>(values.integer(key)); };
        return std::make_unique<cab>(
            settings{.mode = values.is("mode", "fto")   ? partition::fto
                             : values.is("mode", "gto") ? partition::gto
                                                        : partition::profile,
                     .boundary = number("boundary"),
                     .first = number("first"),
                     .degree = number("degree"),
                     .main = number("main"),
                     .bytes = static_cast<double>(values.integer("bytes")),
                     .cache = static_cast<double>(values.integer("cache")),
                     .misses_per_instruction = static_cast<double>(values.integer("cmpi")) / 1e6,
                     .subtrees = number("subtrees"),
                     .socket = number("socket"),
                     .even = values.is("alloc", "even"),
                     .keep = values.is("keep", "on"),
                     .lazy = values.is("zone", "lazy")});
    },
};

} // namespace weft::policies
