#include "policy/parts/cache_friendly.hpp"
#include "policy/parts/data_allocator.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/worker_groups.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cell.hpp"
#include "queue/locked_list.hpp"
#include "queue/sync.hpp"

#include "machine/machine.hpp"

#include <weft/hints.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// Locality-aware work stealing (LAWS): the tasks of an iterative program go where their data lie, in
/// subtrees that fit the cache of a socket.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 4.4 to 4.11.
///
/// Three parts. The allocator (data_allocator.hpp): a task owns an interval of the program's data, its
/// children divide it, each socket has its part of the whole, and a task goes to the socket in whose part its
/// interval lies; the same in every iteration, so the first one, which touches the data, also places them.
/// The partitioner (cache_friendly.hpp): the misses of the first iteration tell which subtrees fit the shared
/// cache, the times of the next ones how large they had best be. Triple-level stealing: a worker helps within
/// the subtree of its socket; only the head, the first worker of a socket, takes another subtree, and only
/// when the last one is over; and when its socket has no more, one of another socket. laws-nc does without
/// partitioner, and its workers steal single tasks from other sockets.
///
/// A socket is a cache domain of the machine with the workers on it. An iterated program is a root that
/// called weft::iteration, the only one at a time. A root that did not, but whose first child says where its
/// data lie, is taken for one that touches them first: allocated likewise, but a socket that is through with
/// its part helps others. Where the program's size is given (`bytes`), a root that is not iterated is packed
/// instead, by the sizes of Eq. 3.5 (4.6 refers to 3.4.2.1), without profile and tuning. All other tasks are
/// stolen at random, as under `steal`; so is, from its second iteration on, a program that the first one has
/// shown to be CPU-bound (miss_intensity.hpp).
///
/// L1. In the first iteration a task of the program is run by a worker of its socket and no other.
/// L2. A CF subtree stays on the socket that began it, and is silent below its root.
/// L3. While `open` of a socket is not 0, its head takes no CF root: it counts what is ready or run of the
///     subtree. What is blocked does not count, so a subtree that waits for another cannot stop it; and as
///     many yields as make a worker look elsewhere let the head take one, too.
/// L4. Whoever brings `open` to 0 wakes the head, so a head may sleep while a subtree runs.
/// L5. Until a socket has begun with a task of its own in an iteration, it takes none that has data from
///     another: sockets get their parts one after the other, and would rob each other of them.
/// L6. What lies at a socket without an active worker is anybody's. (no test)
/// L7. A head leaves CF roots to their own socket while fewer of them wait than a subtree takes times as long
///     away from its data: that socket is through with them sooner. Who has looked in vain failed_looks_before_remote_steal times,
///     or is about to sleep, takes one.
/// L8. A socket takes the CF root whose data are nearest to those of the last one that it took: so sweeps
///     over the data alternate, and each begins with what the last one has left in the cache. While one of
///     those that wait is more than a quarter of them, larger ones come first, or the socket would end with
///     it alone. What is above comes before its like. Others take the one whose turn would come last.
///
/// Where the book is silent: in the first iteration, whose tasks are far more, a socket takes its youngest,
/// or it would keep the widest level pending. The order of CF roots is L8. Tuning begins with the second
/// packed iteration, since the first one finds the caches as the profile left them. A task above the CF roots
/// that has waited goes on wherever its last child ended. Spawns beyond the room of the profile are silent,
/// and their misses are their parent's. Tasks that were not there in the first iteration are CF roots if they
/// do not straddle; if most are like that, there is no packing any more.
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
    zone_knob(),
};
constexpr knob laws_nc_knobs[] = {
    zone_knob(),
};

class locality_aware final : public policy {
public:
    struct settings {
        bool packs = true, tunes = true, lazy = true;
        double margin = 0, cache_bytes = 0, misses_per_instruction = 0, input_bytes = 0;
        std::size_t profiled = 0;
    };
    explicit locality_aware(const settings& s) : settings_(s) {}

    requirements attach(const machine& m, policy_context& context) override {
        machine_ = &m;
        context_ = &context;
        places_.attach(context);
        if (settings_.packs) profile_.attach(settings_.profiled);
        find_sockets(m);
        return {.task_bytes = sizeof(task_part),
                .group_bytes = sizeof(group_part),
                .own_misses = settings_.packs,
                .demotable = true,
                .resizable = true};
    }

    spawn_order spawn(worker_id, task& parent, task& child) override {
        auto& p = parent.data<task_part>();
        auto& c = child.data<task_part>();
        if (p.is == kind::packed || (p.is == kind::unknown && !begins(parent, child))) return below(p, c);
        const phase now = !p.starts ? phase_.load_relaxed() : packs_by_size() ? phase::sized : phase::spread;
        if (now == phase::plain) return settings_.lazy ? spawn_order::lazy : spawn_order::child_first;
        if (now == phase::spread && p.is == kind::spread && p.data.size() <= piece_) return below(p, c);
        c.starts = p.starts;
        c.data = allocator_.part_of(parent, p.data, child, child.parent_group()->data<group_part>());
        const auto [home, straddles] = allocator_.home_of(c.data);
        c.socket = static_cast<std::int16_t>(home);
        switch (now) {
        case phase::profile: {
            const int entry = profile_.insert(child.id(), p.entry - 1, straddles, bytes_of(child.hint()));
            if (entry < 0) return below(p, c);
            c.entry = entry + 1;
            c.is = kind::spread;
            break;
        }
        case phase::sized: c.is = !straddles && fits(c.data) ? kind::packed : kind::above; break;
        case phase::packed: c.is = is_root_of_subtree(child, straddles) ? kind::packed : kind::above; break;
        default: c.is = kind::spread;
        }
        return spawn_order::parent_first;
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        auto& mine = t.data<task_part>();
        if (reason == ready_reason::exposed && t.fresh()) { // it got the bytes of the task that it comes from
            mine.iterated = mine.counted = false;
            mine.frame = true;
        }
        const bool unstarted =
            reason == ready_reason::spawned || (reason == ready_reason::granted && t.fresh() && !mine.frame);
        switch (mine.is) {
        case kind::unknown: break;
        case kind::above:
            if (unstarted) return offer_to_heads(t);
            break;
        case kind::packed: return unstarted ? offer_to_heads(t) : offer_to_socket(w, t, reason);
        case kind::spread: return offer_to_socket(w, t, reason);
        }
        return places_.put(w, t, reason);
    }

    decision next(worker_id w, bool last_look) override {
        member& m = of(w);
        socket& s = *m.at;
        if (m.idle) {
            m.idle = false;
            s.idle.add(-1);
        }
        leave(w, m);
        const decision found = next_of(w, m, s, last_look);
        m.vain = found.t == nullptr ? m.vain + 1 : 0;
        return found;
    }

    // While data are allocated, a frame of another socket is not to be had (L1, L2).
    workers victims(worker_id w) override { return allocates() ? of(w).at->who : context_->all(); }

    void iteration(worker_id, task& t, int) override {
        auto& mine = t.data<task_part>();
        if (!mine.iterated && !claim(t)) return;
        const double took = static_cast<double>(context_->now() - began_);
        ++iterations_;
        if (!settings_.packs) {
            phase_.store_relaxed(phase::spread);
            crosses_.store_relaxed(iterations_ > 1);
        } else if (iterations_ == 1) {
            phase_.store_relaxed(phase::profile);
        } else if (iterations_ == 2) {
            pack(mine);
        } else if (phase_.load_relaxed() == phase::packed) {
            if (strangers_.load_relaxed() > known_.load_relaxed()) {
                phase_.store_relaxed(phase::spread);
                crosses_.store_relaxed(true);
            } else if (settings_.tunes && std::exchange(settled_, true)) {
                search_.measured(profile_, took);
            }
            strangers_.store_relaxed(0);
            known_.store_relaxed(0);
        }
        begin_anew(iterations_ > 1);
        began_ = context_->now();
    }

    void resized(workers active) override { context_->wake(active); }

    void finished(worker_id, task& t, const usage& used) override {
        auto& mine = t.data<task_part>();
        if (mine.iterated) owned_.store_release(false); // pairs with claim()
        if (mine.counted) count(-1);
        mine.iterated = mine.counted = false;
        if (mine.is == kind::spread && mine.entry > 0)
            profile_.add(mine.entry - 1, used.misses.value_or(0), used.instructions.value_or(0));
    }

private:
    enum class kind : std::uint8_t {
        unknown, ///< of no iterated program: by chance
        above,   ///< the program's root, and what is above the CF roots
        spread,  ///< of a socket, each by itself
        packed,  ///< a CF root, and what comes to light from below it
    };
    enum class phase : std::uint8_t {
        plain,   ///< CPU-bound: by chance
        spread,  ///< allocated, not packed
        sized,   ///< packed without iterations: of a root that `starts` only
        profile, ///< the first iteration
        packed
    };
    struct task_part { // of the policy's bytes
        interval data;
        std::int32_t entry; // of the profile + 1; 0: none
        std::int16_t socket;
        kind is;
        bool frame;    // no task that the policy has placed
        bool starts;   // of a root whose data are allocated without iterations
        bool iterated; // the root that owns the profile
        bool counted;  // a root that counts in allocating_
    };
    using group_part = data_allocator::group_part;
    struct alignas(queue::k_cache_line_bytes) socket {
        queue::locked_list<task> roots;  // CF roots and what is above; any worker puts, heads take
        queue::locked_list<task> tasks;  // any worker puts; those of the socket take, from the front
        queue::locked_list<task> behind; // likewise: what yielded
        queue::cell<int> open;           // L3
        queue::cell<unsigned> yields;    // since the head last took a root for their sake
        queue::cell<int> idle;           // workers whose last look found nothing, a hint
        queue::cell<bool> has_begun;     // L5
        queue::cell<int> offered;        // tasks with data, since the iteration began
        queue::cell<double> last;        // the middle of the data of the CF root that was taken last
        workers who;                     // fixed, as is what follows
        int node = 0;                    // of memory
        place_id place = 0;
    };
    struct alignas(queue::k_cache_line_bytes) member { // the worker's alone
        socket* at = nullptr;
        socket* holds = nullptr; // in whose `open` its task counts
        bool idle = false;       // it counts in `idle`
        unsigned turns = 0;
        unsigned vain = 0;   // looks since one found something
        unsigned yields = 0; // of the socket's tasks, since it last looked elsewhere
    };

    member& of(worker_id w) noexcept { return members_[static_cast<std::size_t>(w)]; }
    socket& socket_at(int i) noexcept { return sockets_[static_cast<std::size_t>(i)]; }
    int number_of(const socket& s) const noexcept { return static_cast<int>(&s - sockets_.get()); }
    /// What a spawn is that the policy does not place: silent, or shown as a part of its parent.
    spawn_order below(const task_part& p, task_part& c) const noexcept {
        if (settings_.lazy) return spawn_order::lazy;
        c.data = p.data;
        c.socket = p.socket;
        c.starts = p.starts;
        c.is = p.is;
        c.frame = true;
        return spawn_order::child_first;
    }
    bool allocates() const noexcept { return allocating_.load_relaxed() > 0; }

    // ---- sockets

    void find_sockets(const machine& m) {
        const int count = context_->all().size();
        members_ = std::make_unique<member[]>(static_cast<std::size_t>(count));
        const std::vector<workers> found =
            groups_for_domains(*context_, domains(m, domain_kind::last_level_cache));
        sockets_ = std::make_unique<socket[]>(found.size());
        count_ = static_cast<int>(found.size());
        allocator_.attach(found);
        cache_bytes_ = settings_.cache_bytes;
        for (int i = 0; i < count_; ++i) {
            socket& s = socket_at(i);
            s.who = found[static_cast<std::size_t>(i)];
            s.place = places_.root_place() + 1 + i;
            s.node = m.memory_node_of(context_->core_of(s.who.first));
            for (worker_id w = s.who.first; w < s.who.last; ++w) of(w).at = &s;
            const cache* const shared = m.last_level_cache_of(context_->core_of(s.who.first));
            if (settings_.cache_bytes > 0 || shared == nullptr) continue;
            const auto bytes = static_cast<double>(shared->bytes);
            cache_bytes_ = cache_bytes_ > 0 ? std::min(cache_bytes_, bytes) : bytes;
        }
        if (cache_bytes_ <= 0) cache_bytes_ = unknown_cache_bytes;
        piece_ = 1.0 / (pieces_a_worker * count);
    }

    static std::uint64_t bytes_of(const hints& h) noexcept {
        if (h.bytes > 0) return h.bytes;
        return h.data_begin != nullptr && h.data_end > h.data_begin
                   ? static_cast<std::uint64_t>(static_cast<const char*>(h.data_end) -
                                                static_cast<const char*>(h.data_begin))
                   : 0;
    }

    /// Eq. 3.5, for roots without iterations: S_input is known, and what a task involves is its part of it.
    bool packs_by_size() const noexcept { return settings_.input_bytes > 0; }
    bool fits(interval data) const noexcept {
        constexpr double rounding = 1e-9; // of thirds, and the like
        return data.size() * settings_.input_bytes <= cache_bytes_ * (1 + rounding);
    }

    /// A root that is not iterated so far, and tells where its data lie: perhaps it is what touches them
    /// first. Or somebody has said how large they are.
    bool begins(task& parent, const task& child) noexcept {
        const bool is_root = parent.parent() == nullptr && parent.graph() == 0 && parent.id() != 0;
        const bool spreads = count_ > 1 && child.hint().data_begin != nullptr;
        if (!is_root || !(spreads || packs_by_size()) || owned_.load_relaxed()) return false;
        auto& mine = parent.data<task_part>();
        mine.data = {0, 1};
        mine.is = kind::above;
        mine.starts = mine.counted = true;
        count(1);
        return true;
    }

    /// Of the roots that allocate.
    void count(int change) noexcept {
        if (allocating_.add(change) + change == 0) begin_anew(false);
        context_->wake(context_->all()); // their victims are others now
    }

    /// L5, for the next iteration or root. A socket that was offered nothing in the last one does not wait.
    void begin_anew(bool again) noexcept {
        for (int i = 0; i < count_; ++i) {
            socket& s = socket_at(i);
            s.has_begun.store_relaxed(again && s.offered.load_relaxed() == 0);
            s.offered.store_relaxed(0);
        }
    }

    // ---- the partitioner

    bool claim(task& t) noexcept {
        bool nobody = false;
        if (!owned_.compare_exchange(nobody, true)) return false; // pairs with finished()
        auto& mine = t.data<task_part>();
        if (!mine.counted) count(1);
        mine.data = {0, 1};
        mine.is = kind::above;
        mine.starts = false;
        mine.iterated = mine.counted = true;
        iterations_ = 0;
        began_ = context_->now();
        crosses_.store_relaxed(false);
        if (settings_.packs) profile_.clear();
        return true;
    }

    void pack(task_part& owner) noexcept {
        profile_.sum();
        if (profile_.is_cpu_bound(settings_.misses_per_instruction)) {
            phase_.store_relaxed(phase::plain);
            owner.counted = false; // from here on every worker is everybody's victim
            return count(-1);
        }
        profile_.partition(cache_bytes_);
        search_.begin(settings_.margin);
        settled_ = false;
        phase_.store_relaxed(phase::packed);
    }

    bool is_root_of_subtree(const task& child, bool straddles) noexcept {
        const int entry = profile_.find(child.id());
        (entry < 0 ? strangers_ : known_).add(1);
        return entry < 0 ? !straddles : profile_.tier_of(entry) != task_profile::tier::above;
    }

    // ---- places

    placement offer_to_heads(task& t) noexcept {
        const auto home = static_cast<int>(t.data<task_part>().socket);
        socket& s = socket_at(home);
        const bool head_takes_it = s.idle.load_relaxed() > 0 && s.roots.empty();
        if (t.data<task_part>().is == kind::packed) s.offered.add(1);
        s.roots.push_back(&t);
        if (!head_takes_it)
            for (int i = 0; i < count_; ++i)
                if (i != home && socket_at(i).idle.load_relaxed() > 0) wake_head(socket_at(i));
        const worker_id head = is_left(s) ? 0 : s.who.first;
        return {s.place + count_, {head, head + 1}};
    }

    placement offer_to_socket(worker_id w, task& t, ready_reason reason) noexcept {
        const auto& mine = t.data<task_part>(); // another worker's after the push
        socket& s = socket_at(mine.socket);
        const bool is_spread = mine.is == kind::spread;
        if (is_spread)
            s.offered.add(1);
        else
            s.open.add(1);
        if (reason == ready_reason::yielded) {
            ++of(w).yields;
            s.behind.push_back(&t);
            if ((s.yields.add(1) + 1) % places::yields_to_look == 0) wake_head(s);
        } else {
            s.tasks.push_front(&t);
        }
        if (is_spread && s.tasks.size() > 1 && may_cross()) call_another(s);
        // Others are not in this range: who is told of a task and may not take it (L5) tells nobody else.
        return {s.place, is_left(s) ? context_->active() : s.who}; // L6
    }

    /// None of its workers is active, since the head is the lowest: anybody takes what lies there. Whoever
    /// has put something there asks after that; if the workers leave later, resized() comes later.
    bool is_left(const socket& s) const noexcept {
        queue::std_sync::fence(std::memory_order::seq_cst); // pairs with that of the engine before resized()
        return s.who.first >= context_->active().last;
    }

    /// There is more than the socket takes at once.
    void call_another(const socket& s) noexcept {
        for (int i = 1; i < count_; ++i) {
            const socket& other = socket_at((number_of(s) + i) % count_);
            if (!other.has_begun.load_relaxed() || other.idle.load_relaxed() <= 0) continue;
            return context_->wake(other.who);
        }
    }

    /// May tasks be taken one by one by other sockets, once these have begun with their own part?
    bool may_cross() const noexcept {
        return owned_.load_relaxed() ? crosses_.load_relaxed() : !packs_by_size();
    }

    void wake_head(const socket& s) { context_->wake({s.who.first, s.who.first + 1}); }

    /// The caller's last task has ended, or waits.
    void leave(worker_id w, member& m) noexcept {
        socket* const of = std::exchange(m.holds, nullptr);
        if (of != nullptr && of->open.add(-1) == 1 && w != of->who.first) wake_head(*of); // L4
    }

    /// A worker gets `t`, which is of the socket that counts it.
    decision keep(member& m, task& t, place_id from) noexcept {
        const auto& mine = t.data<task_part>();
        m.holds = mine.is == kind::packed ? &socket_at(mine.socket) : nullptr;
        if (t.data<task_part>().is != kind::above && !m.at->has_begun.load_relaxed())
            m.at->has_begun.store_relaxed(true);
        return {&t, from};
    }

    /// A head takes `t` out of the pool of `from`: a subtree is that of the socket which begins it.
    decision begin(member& m, task& t, const socket& from) noexcept {
        auto& mine = t.data<task_part>();
        mine.socket = static_cast<std::int16_t>(number_of(*m.at));
        if (mine.is == kind::packed) {
            m.at->open.add(1);
            m.at->last.store_relaxed(middle(mine.data));
        }
        return keep(m, t, from.place + count_);
    }

    static double middle(interval i) noexcept { return (i.from + i.to) / 2; }
    static const task_part& record_of(const task& t) noexcept { return t.data<task_part>(); }
    /// The root of `s` whose turn it is, or, for others, whose turn comes last (L8).
    static task* take_root(socket& s, bool next) noexcept {
        if (s.roots.size() > most_compared) return next ? s.roots.pop_front() : s.roots.pop_back();
        double all = 0, largest = 0;
        s.roots.visit([&](const task& t) {
            all += record_of(t).data.size();
            largest = std::max(largest, record_of(t).data.size());
        });
        const bool by_size = largest * even_subtrees > all;
        const double last = s.last.load_relaxed();
        return s.roots.pop_least([&](const task& t) {
            const task_part& part = record_of(t);
            const double gap = std::max({part.data.from - last, last - part.data.to, 0.0});
            const double away = std::round(gap * 1e6); // those that are alike but for rounding are alike
            const double packed = part.is == kind::above ? 0 : 1;
            std::array<double, 3> turn{away, packed, 0};
            if (by_size) turn = {-std::round(std::log2(part.data.size())), packed, away};
            if (!next)
                for (double& each : turn) each = -each;
            return turn;
        });
    }

    static bool may_take_root(socket& s) noexcept {
        if (s.open.load_relaxed() == 0) return true;
        if (s.yields.load_relaxed() < places::yields_to_look) return false;
        s.yields.store_relaxed(0);
        return true;
    }

    /// So that neither a root nor what yielded waits for ever behind tasks of the socket.
    decision in_turn(worker_id w, member& m) noexcept {
        if (++m.turns % places::turns_to_fair != 0) return {};
        if (m.turns / places::turns_to_fair % 2 == 0) return places_.own(w, true);
        task* const t = m.at->behind.try_pop_front();
        return t != nullptr ? keep(m, *t, m.at->place) : decision{};
    }

    decision next_of(worker_id w, member& m, socket& s, bool last_look) {
        const bool head = w == s.who.first;
        if (const decision fair = in_turn(w, m); fair.t != nullptr) return fair;
        if (task* const t = s.tasks.try_pop_front()) return keep(m, *t, s.place);
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        const bool takes_roots = head && may_take_root(s);
        if (takes_roots)
            if (task* const t =
                    m.turns % places::turns_to_fair == 0 ? s.roots.try_pop_front() : take_root(s, true))
                return begin(m, *t, s);
        const bool waits = m.yields >= places::yields_to_look && !last_look;
        if (waits) {
            m.yields = 0;
        } else if (task* const t = s.behind.try_pop_front()) {
            return keep(m, *t, s.place);
        }
        return last_look ? look_everywhere(w, m, takes_roots) : look_once(w, m, takes_roots);
    }

    decision look_once(worker_id w, member& m, bool takes_roots) noexcept {
        const bool allocating = allocates();
        const int members = context_->all().size();
        if (count_ > 1 && m.turns % 2 == 0 && (allocating || context_->active().size() < members)) {
            const auto drawn = static_cast<int>(context_->random(w, static_cast<std::uint32_t>(count_ - 1)));
            socket& other = socket_at(drawn < number_of(*m.at) ? drawn : drawn + 1);
            return take_from(m, other, takes_roots, false);
        }
        const workers near = m.at->who;
        worker_id victim = -1;
        if (!allocating || m.turns % 4 == 1 || near.size() == 1) {
            victim = places_.random_victim(w);
        } else {
            victim = near.first +
                     static_cast<worker_id>(context_->random(w, static_cast<std::uint32_t>(near.size() - 1)));
            if (victim >= w) ++victim;
        }
        if (victim < 0) return {};
        const places::look_result found = places_.look(victim);
        const bool may_ask =
            settings_.lazy && (!allocating || near.contains(victim)); // else nothing is hidden
        return {found.t, victim, may_ask && found.t == nullptr && !found.lost};
    }

    /// L7.
    bool robs(const member& m, const socket& from) const noexcept {
        if (m.vain >= places::failed_looks_before_remote_steal) return true;
        const int here = m.at->node, there = from.node;
        const auto near_gbps = machine_->memory_nodes()[static_cast<std::size_t>(there)].bandwidth_gbps;
        const auto far_gbps = machine_->node_bandwidth_gbps(here, there);
        const double slower = near_gbps && far_gbps ? *near_gbps / *far_gbps : 1;
        const double times_as_long = std::max(slower, machine_->node_distance(here, there) / 10);
        return static_cast<double>(from.roots.size()) >= times_as_long;
    }

    /// What another socket has for the worker.
    decision take_from(member& m, socket& other, bool takes_roots, bool last_look) noexcept {
        const bool left = is_left(other), has_begun = left || m.at->has_begun.load_relaxed();
        if (takes_roots) {
            const auto is_above = [](const task& t) {
                return record_of(t).is == kind::above;
            }; // without data
            const bool takes_any = has_begun && (left || last_look || robs(m, other));
            task* const t = takes_any ? take_root(other, false) : other.roots.pop_first_if(is_above);
            if (t != nullptr) return begin(m, *t, other);
        }
        if (!left && !(may_cross() && has_begun)) return {nullptr, other.place};
        task* t = other.tasks.try_pop_back();
        if (t == nullptr) t = other.behind.try_pop_front();
        if (t == nullptr) return {nullptr, other.place};
        return keep(m, *t, other.place);
    }

    decision look_everywhere(worker_id w, member& m, bool takes_roots) noexcept {
        for (int i = 1; i < count_; ++i) {
            socket& other = socket_at((number_of(*m.at) + i) % count_);
            if (const decision got = take_from(m, other, takes_roots, true); got.t != nullptr) return got;
        }
        const worker_id first = places_.random_victim(w);
        if (first >= 0)
            if (const decision got = places_.look_everywhere(w, first); got.t != nullptr) return got;
        m.idle = true;
        m.at->idle.add(1);
        return {};
    }

    static constexpr double even_subtrees = 4;         // of what waits, none is more than its part
    static constexpr std::size_t most_compared = 1024; // which takes about 10 us
    static constexpr double unknown_cache_bytes = 8 << 20;
    static constexpr int pieces_a_worker = 8; // without packing: below such a part tasks are silent

    const settings settings_;
    const machine* machine_ = nullptr;
    policy_context* context_ = nullptr;
    places places_;
    std::unique_ptr<member[]> members_;
    std::unique_ptr<socket[]> sockets_;
    int count_ = 0; // of sockets
    data_allocator allocator_;
    double cache_bytes_ = 0, piece_ = 0;

    queue::cell<bool> owned_;     // a root is iterated
    queue::cell<int> allocating_; // roots that are iterated, or start what will be
    queue::cell<phase> phase_{phase::plain};
    queue::cell<bool> crosses_;                  // spread tasks may be taken by other sockets
    queue::cell<std::size_t> strangers_, known_; // tasks of this iteration that the profile lacks, or has
    task_profile profile_;
    packing_search search_; // the owning root's worker alone, as what follows
    bool settled_ = false;  // a packed iteration has passed
    int iterations_ = 0;
    time_ns began_ = 0;
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
        return std::make_unique<locality_aware>(locality_aware::settings{
            .tunes = values.flag("tune"),
            .lazy = values.is("zone", "lazy"),
            .margin = static_cast<double>(values.integer("margin")) / 100,
            .cache_bytes = static_cast<double>(values.integer("cache")) * 1024,
            .misses_per_instruction = static_cast<double>(values.integer("cmpi")) / 1e6,
            .input_bytes = static_cast<double>(values.integer("bytes")),
            .profiled = static_cast<std::size_t>(values.integer("tasks"))});
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
            locality_aware::settings{.packs = false, .lazy = values.is("zone", "lazy")});
    },
};

} // namespace weft::policies
