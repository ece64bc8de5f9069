#include "policy/parts/data_allocator.hpp"
#include "policy/parts/data_task.hpp"
#include "policy/parts/iterated_program.hpp"
#include "policy/parts/smallest_cache.hpp"
#include "policy/parts/triple_level_stealing.hpp"
#include "policy/parts/worker_groups.hpp"
#include "policy/seam/registry.hpp"

#include <weft/hints.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// Locality-aware work stealing (LAWS): the tasks of an iterative program go where their data lie, in
/// subtrees that fit the cache of a socket.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.4 to 4.11.
///
/// Three parts:
///
/// - The allocator (data_allocator.hpp): a task owns an interval of the program's data, its children divide
///   it, each socket has its part of the whole, and a task goes to the socket in whose part its interval
///   lies. That is the same in every iteration, so the first one, which touches the data, also places them.
/// - The partitioner (cache_friendly.hpp, iterated_program.hpp): the misses of the first iteration tell which
///   subtrees fit the shared cache. The times of the next iterations tell which size of subtree is fastest.
/// - The triple-level stealing (triple_level_stealing.hpp): a worker helps within the subtree of its socket.
///   Only the head, the first worker of a socket, takes another subtree: when the last one is over, and when
///   its socket has no more, one of another socket.
///
/// laws-nc does without the partitioner, and its workers steal single tasks from other sockets.
///
/// A socket is a last-level-cache domain with the workers on it. An iterated program is a root that called
/// weft::iteration; there is one at a time. A root that called weft::initialisation writes the data first, and
/// is allocated as a first iteration is (4.7). If the program's size is given (`bytes`), a root that is not iterated is
/// packed instead, by the sizes of Eq. 3.5 (4.6 refers to 3.4.2.1), without profile and tuning. All other
/// tasks are stolen at random, as under `steal`. So is a program that the first iteration has shown to be
/// CPU-bound (miss_intensity.hpp), from its second iteration on.
///
/// L1. In the first iteration, and where the data are written before it, a task of the program is run by a
///     worker of its socket and no other.
/// L2. A CF subtree stays on the socket that began it, and is silent below its root.
/// L3. While a task of the socket's subtree is ready or runs, its head takes no CF root. Blocked tasks do not
///     count, so a subtree that waits for another cannot stop it. After as many yields as make a worker look
///     elsewhere the head takes one, too (subtree_activity.hpp).
/// L4. The worker that ends the last such task wakes the head, so a head may sleep while a subtree runs.
/// L5. A socket that has completed its own tasks takes those of others (4.4). So until it has begun one of its
///     own in a pass over the data, it takes no task whose data lie on another socket. Sockets get their parts
///     one after another; without this rule they would take each other's parts. An iteration has a pass for
///     each group of children that its root makes: two in a program that visits red and black points.
/// L6. Any worker may take the tasks that lie at a socket without an active worker. (no test)
///
/// The book says of the pool of CF roots only that the own head takes from it before it takes from others, and
/// that the scheduler is built as that of CAB (4.9). So the pool is double-ended, as CAB's is: its own head
/// takes the youngest, other heads take the oldest.
///
/// Ours, in no source, and off by default; `keep` is L7, `order=near` is L8:
///
/// L7. Let r be how many times as long a subtree takes away from its data. While fewer than r CF roots wait
///     at their own socket, other heads leave them there: that socket gets to them sooner. After
///     failed_looks_before_remote_steal failed looks, and before it parks, a head takes one nevertheless.
/// L8. A socket takes the CF root whose data are nearest to those of the last one that it took: so sweeps
///     over the data alternate, and each begins with what the last one has left in the cache. While one
///     waiting task has more than a quarter of the data of all that wait, larger tasks come first; otherwise
///     the socket would run that task alone at the end. Among equally near tasks, those above the CF roots
///     come first. Other sockets take the one whose turn would come last (root_pool.hpp).
///
/// Where the book is silent: in the first iteration, whose tasks are far more, a socket takes its youngest,
/// or it would keep the widest level pending. Workers of laws-nc take other sockets' oldest. Tuning begins with the second
/// packed iteration, since the first one finds the caches as the profile left them. A task above the CF roots
/// that has waited is resumed wherever its last child ended. Spawns beyond the room of the profile are
/// silent, and their misses are their parent's. Tasks that were not there in the first iteration are CF roots
/// if they do not straddle a border; if most tasks are like that, packing ends.
namespace weft::policies {
namespace {

constexpr knob laws_knobs[] = {
    {"tune", "on", "on, off", "CF subtrees become smaller or larger as iterations get shorter by it"},
    {"margin", "0", "0..99", "per cent by which an iteration must be shorter to count as better"},
    {"cache", "0", "0..100000000", "KiB of a socket's shared cache; 0: what the machine says"},
    {"cmpi", "1000", "0..1000000",
     "a task with fewer misses in a million instructions is CPU-bound; if most are, they are stolen at "
     "random"},
    {"bytes", "0", "0..1000000000000000",
     "all data of a program without iterations, which is then packed, too; 0: it is not"},
    {"tasks", "16384", "64..1048576", "of an iteration that are profiled"},
    {"order", "youngest", "youngest, oldest, near",
     "which subtree of its own a socket takes next; near, ours: the one nearest to the last one's data"},
    {"keep", "off", "on, off", "ours: the last subtrees of a socket are left to it"},
    zone_knob(),
};
constexpr knob laws_nc_knobs[] = {
    {"pieces", "0", "0..1000000",
     "ours: a task with less than a worker's part of the data divided by this runs silently; 0: none does"},
    zone_knob(),
};

class locality_aware final : public policy {
    using kind = data_task::kind;
    using phase = iterated_program::phase;

public:
    locality_aware(const iterated_program::settings& s, const triple_level_stealing::settings& stealing,
                   int pieces_a_worker)
        : settings_(s)
        , set_(stealing)
        , pieces_a_worker_(pieces_a_worker) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        const std::vector<workers> sockets =
            groups_for_domains(context, domains(m, domain_kind::last_level_cache));
        sockets_ = static_cast<int>(sockets.size());
        if (pieces_a_worker_ > 0) piece_ = 1.0 / (pieces_a_worker_ * context.all().size());
        if (!(settings_.cache_bytes > 0)) settings_.cache_bytes = smallest_cache_of_heads(m, sockets);
        program_.attach(settings_);
        allocator_.attach(sockets);
        stealing_.attach(m, context, sockets, program_, set_);
        return {.task_bytes = sizeof(data_task),
                .group_bytes = sizeof(data_allocator::group_part),
                .own_misses = settings_.packs,
                .demotable = true,
                .resizable = true};
    }

    // ---- the allocator and the partitioner: 4.5, 4.6

    spawn_order spawn(worker_id, task& parent, task& child) override {
        auto& p = parent.data<data_task>();
        auto& c = child.data<data_task>();
        if (p.is == kind::packed || (p.is == kind::unknown && !begins(parent))) return below(p, c);
        const phase now = program_.phase_of(p.starts);
        if (now == phase::plain) return set_.lazy ? spawn_order::lazy : spawn_order::child_first;
        if (now == phase::spread && p.is == kind::spread && p.data.size() <= piece_) return below(p, c);
        c.starts = p.starts;
        auto& given = child.parent_group()->data<data_allocator::group_part>();
        if (p.iterated && given.children == 0 && program_.iterations() > 1) stealing_.begin_pass(true);
        c.data = allocator_.part_of(parent, p.data, child, given);
        const auto [home, straddles] = allocator_.home_of(c.data);
        c.socket = static_cast<std::int16_t>(home);
        switch (now) {
        case phase::profile: {
            const int entry =
                program_.profile().insert(child.id(), p.entry - 1, straddles, bytes_of(child.hint()));
            if (entry < 0) return below(p, c);
            c.entry = entry + 1;
            c.is = kind::spread;
            break;
        }
        case phase::sized:
            c.is = !straddles && program_.fits(c.data.size()) ? kind::packed : kind::above;
            break;
        case phase::packed:
            c.is = program_.is_root_of_subtree(child, straddles) ? kind::packed : kind::above;
            break;
        default: c.is = kind::spread;
        }
        return spawn_order::parent_first;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        auto& mine = t.data<data_task>();
        if (reason == ready_reason::exposed && t.fresh()) { // it got the bytes of the task that it comes from
            mine.iterated = mine.counted = false;
            mine.frame = true;
        }
        const bool unstarted =
            reason == ready_reason::spawned || (reason == ready_reason::granted && t.fresh() && !mine.frame);
        switch (mine.is) {
        case kind::unknown: break;
        case kind::above:
            if (unstarted) return stealing_.offer_to_heads(t);
            break;
        case kind::packed:
            return unstarted ? stealing_.offer_to_heads(t) : stealing_.offer_to_socket(w, t, reason);
        case kind::spread: return stealing_.offer_to_socket(w, t, reason);
        }
        return stealing_.put_anywhere(w, t, reason);
    }

    decision next(worker_id w, bool last_look) override { return stealing_.next(w, last_look); }

    workers victims(worker_id w) override { return stealing_.victims(w); }

    // ---- the iterations: 4.6

    void iteration(worker_id, task& t, int number) override {
        auto& mine = t.data<data_task>();
        if (number < 0) {
            if (sockets_ > 1) start(t);
            return;
        }
        if (!mine.iterated && !claim(t)) return;
        if (!program_.end_iteration(context_->now())) {
            mine.counted = false; // from here on every worker may steal from every other
            count(-1);
        }
        stealing_.begin_pass(program_.iterations() > 1);
        program_.begin_iteration(context_->now());
    }

    void resized(workers active) override { context_->wake(active); }

    void finished(worker_id, task& t, const usage& used) override {
        auto& mine = t.data<data_task>();
        if (mine.iterated) program_.release();
        if (mine.counted) count(-1);
        mine.iterated = mine.counted = false;
        if (mine.is == kind::spread && mine.entry > 0)
            program_.profile().add(mine.entry - 1, used.misses.value_or(0), used.instructions.value_or(0));
    }

private:
    static constexpr double unknown_cache_bytes = 8 << 20;

    /// The order of a spawn that the policy does not place: silent, or reported as a part of its parent.
    spawn_order below(const data_task& p, data_task& c) const noexcept {
        if (set_.lazy) return spawn_order::lazy;
        c.data = p.data;
        c.socket = p.socket;
        c.starts = p.starts;
        c.is = p.is;
        c.frame = true;
        return spawn_order::child_first;
    }

    double smallest_cache_of_heads(const machine& m, const std::vector<workers>& sockets) const {
        double smallest = 0;
        for (const workers& s : sockets) {
            const double bytes = smallest_last_level_cache(m, *context_, {s.first, s.first + 1});
            if (bytes > 0) smallest = smallest > 0 ? std::min(smallest, bytes) : bytes;
        }
        return smallest > 0 ? smallest : unknown_cache_bytes;
    }

    static std::uint64_t bytes_of(const hints& h) noexcept {
        if (h.bytes > 0) return h.bytes;
        return h.data_begin != nullptr && h.data_end > h.data_begin
                   ? static_cast<std::uint64_t>(static_cast<const char*>(h.data_end) -
                                                static_cast<const char*>(h.data_begin))
                   : 0;
    }

    /// A root that is not iterated, and the setting `bytes` says how large its data are.
    bool begins(task& parent) noexcept {
        const bool is_root = parent.parent() == nullptr && parent.graph() == 0 && parent.id() != 0;
        return is_root && program_.packs_by_size() && start(parent);
    }

    /// The root is allocated, without being iterated. False if another program is iterated meanwhile.
    bool start(task& root) noexcept {
        auto& mine = root.data<data_task>();
        if (mine.is != kind::unknown || program_.is_owned()) return false;
        mine.data = {0, 1};
        mine.is = kind::above;
        mine.starts = mine.counted = true;
        count(1);
        return true;
    }

    /// The number of roots that allocate changes, and with it every worker's victims.
    void count(int change) noexcept {
        if (program_.count(change) == 0) stealing_.begin_pass(false);
        context_->wake(context_->all());
    }

    bool claim(task& t) noexcept {
        if (!program_.claim()) return false;
        auto& mine = t.data<data_task>();
        if (!mine.counted) count(1);
        mine.data = {0, 1};
        mine.is = kind::above;
        mine.starts = false;
        mine.iterated = mine.counted = true;
        program_.begin(context_->now());
        return true;
    }

    iterated_program::settings settings_; // complete after attach()
    const triple_level_stealing::settings set_;
    const int pieces_a_worker_; // of laws-nc: below such a part tasks are silent; 0: none is
    policy_context* context_ = nullptr;
    int sockets_ = 0;
    double piece_ = 0;
    data_allocator allocator_;
    iterated_program program_;
    triple_level_stealing stealing_;
};

} // namespace

extern constinit const policy_entry laws_entry{
    .name = "laws",
    .summary = "tasks go to the socket of their data, in subtrees that fit its cache",
    .source = "Chen & Guo 2017, 4.4 to 4.11: LAWS",
    .wants = "weft::iteration; bytes, intervals of data or numbers of children where work is not halved",
    .helps = "iterative divide and conquer over large arrays, on several sockets",
    .knobs = laws_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<locality_aware>(
            iterated_program::settings{.tunes = values.flag("tune"),
                                       .margin = static_cast<double>(values.integer("margin")) / 100,
                                       .cache_bytes = static_cast<double>(values.integer("cache")) * 1024,
                                       .misses_per_instruction =
                                           static_cast<double>(values.integer("cmpi")) / 1e6,
                                       .input_bytes = static_cast<double>(values.integer("bytes")),
                                       .profiled = static_cast<std::size_t>(values.integer("tasks"))},
            triple_level_stealing::settings{.order =
                                                values.is("order", "youngest") ? root_pool::order::youngest
                                                : values.is("order", "oldest") ? root_pool::order::oldest
                                                                               : root_pool::order::nearest,
                                            .keeps = values.is("keep", "on"),
                                            .lazy = values.is("zone", "lazy")},
            0);
    },
};

extern constinit const policy_entry laws_nc_entry{
    .name = "laws-nc",
    .summary = "tasks go to the socket of their data, one by one",
    .source = "Chen & Guo 2017, 4.10.3: LAWS-NC",
    .wants = "weft::iteration; bytes, intervals of data or numbers of children where work is not halved",
    .helps = "as laws, where iterations differ or the data of a task are small",
    .knobs = laws_nc_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<locality_aware>(
            iterated_program::settings{.packs = false},
            triple_level_stealing::settings{.lazy = values.is("zone", "lazy")},
            static_cast<int>(values.integer("pieces")));
    },
};

} // namespace weft::policies
