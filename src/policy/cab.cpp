#include "policy/parts/bi_tier_partition.hpp"
#include "policy/parts/bi_tier_stealing.hpp"
#include "policy/parts/bi_tier_task.hpp"
#include "policy/parts/smallest_cache.hpp"
#include "policy/parts/subtree_sizes.hpp"
#include "policy/parts/worker_groups.hpp"
#include "policy/seam/registry.hpp"

#include <weft/impl/group.hpp>

#include <cstdint>
#include <memory>
#include <vector>

/// CAB: cache-aware bi-tier stealing.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, chapter 3:
///   the boundary by Eqs. 3.4 (fto), 3.5 (gto) and 3.6 (profile), the stealing by 3.3.2 and Table 3.3.
///
/// The tree of tasks is cut into subtrees that fit a last-level cache (bi_tier_partition.hpp). Tasks above
/// and at the cut are spawned parent-first into the pool of their socket. Only the heads take from these
/// pools; the head of a socket is its lowest worker. A pool is double-ended (3.3.2): its own head takes the
/// youngest task, other heads take the oldest. Tasks below the cut run child-first, on the workers of one
/// socket only.
///
/// C1  Only heads take from the inter-socket pools, their own or another one.
/// C2  A socket works on one intra-socket subtree at a time: its head takes no leaf inter-socket task while
///     one that began there is unfinished (subtree_guard.hpp).
///
/// Resolved where the source is silent, contradicts itself, or would hang:
///
/// - Only leaf inter-socket tasks make a socket busy. Those above them take the head's time only while they
///   run. The head takes them also while its socket is busy, since other sockets wait for what they spawn.
/// - The book says that pools are double-ended, as those of TBB, and not which head takes from which end. The
///   ends are those of TBB: the owner's end is the youngest.
/// - A task that waited above the boundary is resumed from the pool of the socket where it began, before the
///   other tasks there. C1 holds for tasks that have not begun. One that has begun may hold a lock, so other
///   workers of that socket take it before they park.
/// - A subtree shares its socket from the moment at which one of its tasks waits for something else than its
///   children (a lock, a future, a timer), or its tasks have yielded yields_to_share times on one worker:
///   what it waits for may be kept back otherwise. Programs of forks and joins never come to that, so C2
///   always holds for them.
/// - A child in the group of a task that is not its parent, the tasks of graphs and their descendants belong
///   to no subtree: all workers steal them at random, child-first ("free" below). The same holds for tasks
///   that are measured in the first iteration, parent-first.
/// - The head that is to steal looks at the pool of a random other socket. The source does not say which.
/// - The rule for general trees may give fewer subtrees than sockets. Unless subtrees=0, a subtree is at most
///   that part of the tree, by how its tasks branch: measured sizes differ a little from one sweep to the
///   next, and would cut it elsewhere each time.
/// - A program that the first iteration shows to be CPU-bound (miss_intensity.hpp) is stolen at random from
///   then on (3.8.2.3). The source does not say how that is decided.
///
/// Ours, in no source, and off by default: `keep`. A subtree goes to the pool of the socket that last had the
/// one at the same place in the tree (kept_subtrees.hpp). Other heads leave it there, unless their socket,
/// with this subtree, still keeps no larger part of the tree than the other. Waiting for the subtree costs
/// less than fetching its data, which would then stay on the other socket. A head takes it nevertheless after
/// failed_looks_before_remote_steal failed looks, and before it parks.
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
    {"order", "youngest", "youngest, oldest", "which task of its socket's pool a head takes"},
    {"probe", "random", "random, turn",
     "which pool the head of another socket looks at: any, or each in turn from the next socket on"},
    {"keep", "off", "on, off",
     "ours: a subtree goes to the socket that last had the one at its place in the tree"},
    zone_knob("reported: spawns below the boundary are shown, too (for traces and tests)"),
};

using bi_tier::group_part, bi_tier::kind, bi_tier::task_part;
using mode = bi_tier_partition::mode;

struct settings {
    bi_tier_partition partition;
    double misses_per_instruction;
    int workers_of_socket;
    bool even, oldest, in_turn, keep, lazy;
};

class cab final : public policy {
public:
    explicit cab(const settings& s) : set_(s), partition_(s.partition) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        const domains caches(m, domain_kind::last_level_cache);
        const std::vector<workers> sockets = set_.workers_of_socket > 0
                                                 ? groups_of_size(context, set_.workers_of_socket)
                                                 : groups_in_domains(context, caches);
        partition_.sockets = static_cast<int>(sockets.size());
        if (!(partition_.cache > 0)) partition_.cache = smallest_last_level_cache(m, context, context.all());
        if (partition_.subtrees < 0 || (partition_.subtrees == 0 && partition_.cache <= 0))
            partition_.subtrees = partition_.sockets;
        random_ = partition_.sockets < 2 || (partition_.by == mode::fto && partition_.boundary == 0);
        const bool measures = partition_.by == mode::profile;
        if (measures) sizes_.attach(set_.misses_per_instruction);
        tiers_.attach(sockets, context,
                      {.even = set_.even,
                       .oldest = set_.oldest,
                       .in_turn = set_.in_turn,
                       .keep = set_.keep && !random_,
                       .lazy = set_.lazy});
        return {.task_bytes = sizeof(task_part),
                .group_bytes = measures ? std::uint16_t{sizeof(group_part)} : std::uint16_t{0},
                .lazy = random_ && set_.lazy,
                .own_misses = measures,
                .demotable = true,
                .resizable = random_}; // a socket without workers would keep the subtree that it has begun
    }

    // ---- the partition: 3.4

    spawn_order spawn(worker_id, task& parent, task& child) override {
        if (random_) return below();
        const auto& p = parent.data<task_part>();
        auto& c = child.data<task_part>();
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
        c.at = p.at.child(static_cast<int>(child.index()), partition_.branching(parent, child));
        c.iterations = p.iterations;
        c.is = classify(parent, child);
        return c.is == kind::free ? spawn_order::child_first : spawn_order::parent_first;
    }

    void iteration(worker_id, task& root, int number) override {
        auto& own = root.data<task_part>();
        if (number < 0 || own.is == kind::plain) return;
        if (own.iterations == 1 && own.children.computes()) {
            own.is = kind::plain;
            own.self = &root;
            return tiers_.count_plain(1);
        }
        if (own.iterations < 2) ++own.iterations;
        if (const std::uint64_t sum = own.children.bytes.load_relaxed(); sum > 0) // they have ended
            own.total = own.bytes = static_cast<double>(sum);
    }

    // ---- the stealing: 3.3.2

    placement ready(worker_id w, task& t, ready_reason reason) override {
        auto& own = t.data<task_part>();
        if (random_) return tiers_.put_root(w, t, reason);
        if (reason == ready_reason::root) {
            own.is = kind::inter;
            own.bytes = own.total = partition_.bytes;
            own.at.width = 1;
            return tiers_.put_root(w, t, reason);
        }
        // A frame has the bytes of its task, and may lie where an ended leaf of these bytes lay.
        if (reason == ready_reason::exposed && t.fresh() && own.is == kind::leaf) own.is = kind::intra;
        const bool has_begun = own.self != nullptr;
        switch (own.is) {
        case kind::inter: return tiers_.put_in_pool(w, t, reason);
        case kind::leaf:
            return has_begun ? tiers_.put_in_socket(w, t, reason) : tiers_.put_in_pool(w, t, reason);
        case kind::intra: return tiers_.put_in_socket(w, t, reason);
        case kind::measured:
            if (own.socket > 0) return tiers_.put_in_socket(w, t, reason);
            break;
        case kind::plain: return tiers_.put_root(w, t, reason);
        case kind::free: break;
        }
        return tiers_.put_free(w, t, reason);
    }

    decision next(worker_id w, bool last_look) override {
        return random_ ? tiers_.next_at_random(w, last_look) : tiers_.next(w, last_look);
    }

    workers victims(worker_id w) override { return random_ ? context_->all() : tiers_.victims(w); }

    void started(worker_id w, task& t) override {
        if (random_) return;
        auto& own = t.data<task_part>();
        if (own.is == kind::inter) tiers_.begin_inter(w, own);
        if (own.is == kind::leaf && own.self == nullptr) tiers_.begin_subtree(w, t);
    }

    void blocked(worker_id, task& t, ready_reason reason) override {
        if (random_ || reason == ready_reason::joined || reason == ready_reason::moved || goes_behind(reason))
            return;
        const auto& own = t.data<task_part>();
        if (own.is == kind::leaf || own.is == kind::intra) tiers_.share(own);
    }

    void finished(worker_id, task& t, const usage& used) override {
        auto& own = t.data<task_part>();
        if (own.is == kind::measured && !used.cancelled) return measure(t, used);
        if (own.is == kind::plain && own.self == &t) return tiers_.count_plain(-1);
        if (own.is != kind::leaf || own.self != &t) return;
        tiers_.end_subtree(own);
    }

    // ---- the sums of groups: Eq. 3.6

    after_wait group_wait(worker_id, task& t, group& g) override {
        if (sizes_.is_on()) g.data<group_part>().owner_waits = g.owner() == &t;
        return after_wait::stay;
    }

    void group_end(worker_id, task& owner, group& g) override {
        if (!sizes_.is_on()) return;
        const auto& ended = g.data<group_part>();
        if (ended.owner_waits) owner.data<task_part>().children.add(ended.children);
    }

private:
    spawn_order below() const noexcept { return set_.lazy ? spawn_order::lazy : spawn_order::child_first; }

    // ---- the partition

    kind classify(const task& parent, task& child) {
        const auto& p = parent.data<task_part>();
        auto& c = child.data<task_part>();
        if (partition_.by == mode::fto) return classify_by_level(p, child);
        if (p.is == kind::measured || (sizes_.is_on() && p.total == 0)) {
            c.socket = set_.even && c.at.is_in_one_of(partition_.sockets)
                           ? c.at.socket_of(partition_.sockets) + 1
                           : 0;
            return kind::measured;
        }
        const int branching = partition_.branching(parent, child);
        const double declared = sizes_.is_on() ? 0 : static_cast<double>(child.hint().bytes);
        c.bytes = partition_.size_of_child(sizes_.bytes_of(child.id()), declared, p.bytes / branching);
        // What a root spawns one by one are trees of their own, all over the same data.
        const bool is_whole = bi_tier_partition::is_root(parent) && branching == 1;
        c.total = p.total > 0 && !is_whole ? p.total : c.bytes;
        if (partition_.is_too_small(c.total)) return kind::free;
        return partition_.is_subtree(c.bytes, c.at.width) ? kind::leaf : kind::inter;
    }

    kind classify_by_level(const task_part& p, task& child) const noexcept {
        auto& c = child.data<task_part>();
        if (child.level() < partition_.first) return kind::inter;
        c.boundary = p.boundary > 0 ? p.boundary : partition_.boundary_of(child);
        return child.level() >= c.boundary ? kind::leaf : kind::inter;
    }

    void measure(task& t, const usage& used) noexcept {
        const bool is_in_group = t.parent_group() != nullptr && t.parent() != nullptr;
        subtree_sum* const up = is_in_group ? &t.parent_group()->data<group_part>().children : nullptr;
        sizes_.ended(t, used, t.data<task_part>().children, up);
    }

    const settings set_;
    bi_tier_partition partition_; // complete after attach()
    bool random_ = false;         // the boundary level is 0
    policy_context* context_ = nullptr;
    bi_tier::stealing tiers_;
    subtree_sizes sizes_; // mode=profile
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
            settings{.partition = {.by = values.is("mode", "fto")   ? mode::fto
                                         : values.is("mode", "gto") ? mode::gto
                                                                    : mode::profile,
                                   .boundary = number("boundary"),
                                   .first = number("first"),
                                   .degree = number("degree"),
                                   .main = number("main"),
                                   .bytes = static_cast<double>(values.integer("bytes")),
                                   .cache = static_cast<double>(values.integer("cache")),
                                   .subtrees = number("subtrees")},
                     .misses_per_instruction = static_cast<double>(values.integer("cmpi")) / 1e6,
                     .workers_of_socket = number("socket"),
                     .even = values.is("alloc", "even"),
                     .oldest = values.is("order", "oldest"),
                     .in_turn = values.is("probe", "turn"),
                     .keep = values.is("keep", "on"),
                     .lazy = values.is("zone", "lazy")});
    },
};

} // namespace weft::policies
