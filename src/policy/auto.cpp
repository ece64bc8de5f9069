#include "policy/parts/held_lock.hpp"
#include "policy/parts/place_trials.hpp"
#include "policy/parts/program_places.hpp"
#include "policy/seam/registry.hpp"

#include "machine/machine.hpp"
#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// One of several policies for each place of the program: the one that was the fastest there.
///
///   Ours. The candidates follow from the machine by the rules of `weft advise` (docs/advise.md; chapter 9 of Q. Chen, M. Guo: Task
///   Scheduling for Multi-core and Parallel Architectures, Springer 2017), and times decide (place_trials.hpp), as there.
///
/// Each candidate is attached to the same context, and has places of its own. One is *present*: all hooks go to it. Another
/// becomes present when a run begins and no task of an earlier run is left, so no candidate ever has tasks of another's. The zone of
/// the roots changes with it (requirements::follows_runs).
///
/// Tasks that no root waits for (futures, tasks of graphs, children of a group from outside) may outlive their run. So each task is
/// counted from the first hook that tells of it to its end, but for roots and frames, whose owners wait for them. A silent child is
/// counted while it and its parent are in different hands. While there are any the present candidate stays, and the run is not measured. A task that asks for something
/// at the gate may go from next() to a team, whose instance has it then, or wait at the gate. Its worker keeps its count until it
/// starts here or is turned away: then it is elsewhere, and is counted anew when it is granted.
///
/// An idle worker may still be in next() of the former candidate when another becomes present. It finds nothing there. Its last look
/// before it sleeps is as good as one that finds an empty place: the pointer to the present candidate is written before the root is
/// handed in, so the fences of the sleep protocol order it as they order what ready() writes.
///
/// The instance of a team is told of no runs, and stays with the first candidate, `steal`.
///
///   word            | writer                             | readers      | order
///   present_        | run_begins, under the engine's lock | all workers  | relaxed: see above
///   molds_          | as present_                        | all workers  | relaxed: likewise
///   apart::came,    | the worker of the line              | the engine's | release, acquire: the sums would otherwise
///   ended           |                                    | thread       | miss what came before an end
///
/// Invariants:
/// I1. The present candidate changes only while no task is in any place, runs or is blocked.
/// I2. The bytes of a task behind those of the candidates hold its own address if and only if it is counted, but for one in at_gate: a
///     frame has a copy of them, but lies elsewhere.
namespace weft::policies {
namespace {

constexpr knob auto_knobs[] = {
    {"of", "rules", "text",
     "the candidates beside steal: names joined by '+', each with at most one knob; rules: by the machine"},
    {"share", "5", "0..50", "percentage of the time of a place's runs that trials may lose"},
    {"memory", "default", "text",
     "a folder that keeps the choices for later processes; off: none; default: WEFT_AUTO_MEMORY, else "
     "weft/auto in the user's cache; on a modelled machine off"},
};

/// What is worth a trial on such a machine, without any knowledge of the program.
std::vector<std::string> candidates_for(const machine& m, int workers) {
    std::vector<std::string> found = {"steal"};
    if (workers < 2) return found;
    double slowest = m.speed_of(0), fastest = slowest;
    for (int c = 0; c < m.size(); ++c) {
        slowest = std::min(slowest, m.speed_of(c));
        fastest = std::max(fastest, m.speed_of(c));
    }
    const bool is_unequal = slowest < 0.99 * fastest;
    if (is_unequal) found.emplace_back("hybrid");
    if (m.domains().size() > 1) {
        found.emplace_back("adws");
        found.emplace_back("near");
    }
    if (!is_unequal) found.emplace_back("static");
    found.emplace_back("steal-parent-first");
    return found;
}

std::vector<std::string> listed(std::string_view names) {
    std::vector<std::string> found = {"steal"};
    while (!names.empty()) {
        const std::size_t plus = names.find('+');
        const std::string name(names.substr(0, plus));
        names = plus == std::string_view::npos ? std::string_view{} : names.substr(plus + 1);
        if (std::ranges::find(found, name) == found.end()) found.push_back(name);
    }
    if (found.size() > place_record::most_candidates)
        throw error("policy auto: too many candidates", fmt::format("{} with steal", found.size()),
                    fmt::format("at most {}", place_record::most_candidates));
    return found;
}

/// Throws weft::error.
std::unique_ptr<policy> made(const std::string& candidate) {
    try {
        return make_policy(candidate);
    } catch (const error& e) {
        throw error(fmt::format("policy 'auto': bad candidate in its knob 'of': {}", e.what()));
    }
}

class automatic final : public policy {
public:
    automatic(std::string of, double share, std::string memory)
        : of_(std::move(of))
        , share_(share)
        , memory_(std::move(memory)) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        for (worker_id w = 0; w < context.all().size(); ++w) home_.push_back(context.core_of(w));
        names_ = of_ == "rules" ? candidates_for(m, context.all().size()) : listed(of_);
        apart_ = std::make_unique<apart[]>(static_cast<std::size_t>(context.all().size()));
        requirements all{.demotable = true, .resizable = true, .follows_runs = true};
        for (const std::string& name : names_) {
            policies_.push_back(made(name));
            needs_.push_back(policies_.back()->attach(m, context));
            add(all, needs_.back(), name);
        }
        mark_at_ = all.task_bytes = round_up(all.task_bytes);
        all.task_bytes = static_cast<std::uint16_t>(all.task_bytes + sizeof(task*));
        all.lazy = needs_.front().lazy;
        all.graph_tasks = needs_.front().graph_tasks;
        present_.store_relaxed(policies_.front().get());
        molds_.store_relaxed(needs_.front().most_width > 0);
        places_.attach(names_, share_);
        places_.open_memory(memory_, m, context);
        return all;
    }

    // ---- which candidate is present

    root_zone run_begins(const task& root, time_ns now) override {
        const held_lock here(guard_);
        program_places::place& p = places_.of(root);
        run_ = {.of = &p, .candidate = present_index_, .began = now, .is_measured = none_is_apart()};
        if (run_.is_measured) run_.candidate = places_.trials(p).next();
        if (run_.candidate != present_index_) { // I1: nothing was apart
            if (needs_[present_index_].exchanges) go_home();
            present_index_ = run_.candidate;
            present_.store_relaxed(policies_[present_index_].get());
            molds_.store_relaxed(needs_[present_index_].most_width > 0);
            last_tick_ = 0;
            context_->wake(context_->all()); // sleepers read the victims again
        }
        return zone_of(needs_[present_index_]);
    }

    void run_ended(time_ns now) override {
        const held_lock here(guard_);
        program_places::place& p = *run_.of;
        ++p.runs;
        if (run_.is_measured)
            places_.trials(p).took(run_.candidate, now - run_.began);
        else
            places_.trials(p).missed();
    }

    // ---- hooks with tasks

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if (reason == ready_reason::spawned || reason == ready_reason::released ||
            reason == ready_reason::granted)
            comes(w, t);
        return present().ready(w, t, reason);
    }
    void finished(worker_id w, task& t, const usage& used) override {
        present().finished(w, t, used);
        leaves(w, t);
    }

    decision next(worker_id w, bool last_look) override {
        if (task* const share = apart_of(w).share) [[unlikely]]
            return apart_of(w).share = nullptr, decision{share, w};
        const decision found = present().next(w, last_look);
        if (found.t != nullptr && found.t->claims_ && is_counted(*found.t)) [[unlikely]] {
            mark(*found.t) = nullptr;
            apart_of(w).at_gate = found.t;
        }
        return found;
    }
    workers victims(worker_id w) override { return present().victims(w); }
    spawn_order spawn(worker_id w, task& parent, task& child) override {
        return present().spawn(w, parent, child);
    }
    bool queues_child(worker_id w) override { return present().queues_child(w); }
    int pieces(worker_id w, task& loop) override { return present().pieces(w, loop); }
    void group_begin(worker_id w, task& t, group& g) override { present().group_begin(w, t, g); }
    after_wait group_wait(worker_id w, task& t, group& g) override { return present().group_wait(w, t, g); }
    void group_end(worker_id w, task& t, group& g) override { present().group_end(w, t, g); }
    void started(worker_id w, task& t) override {
        if (t.claims_) [[unlikely]]
            passes(w, t);
        if (t.frame_ == nullptr) comes(w, t); // begun by its parent
        present().started(w, t);
    }
    void blocked(worker_id w, task& t, ready_reason reason) override { present().blocked(w, t, reason); }
    void resumed(worker_id w, task& t) override {
        if (t.claims_) [[unlikely]]
            passes(w, t);
        present().resumed(w, t);
    }
    void child_detached(worker_id w) override { count(apart_of(w).came); }
    void child_settled(worker_id w) override { count(apart_of(w).ended); }
    void turned_away(worker_id w) override {
        if (std::exchange(apart_of(w).at_gate, nullptr) != nullptr) count(apart_of(w).ended);
    }
    void iteration(worker_id w, task& t, int k) override { present().iteration(w, t, k); }
    void graph_grew(worker_id w, const graph_view& g) override { present().graph_grew(w, g); }
    bool gives_way(worker_id w, const task& t) override { return present().gives_way(w, t); }

    // ---- moldable tasks

    /// Under a candidate that does not mold there is none, except of a graph that has begun under another one.
    elastic_place mold(worker_id w, task& t) override {
        if (t.claims_) [[unlikely]]
            passes(w, t);
        return is_molding() ? present().mold(w, t) : elastic_place{w, 1};
    }
    void assemble(worker_id w, std::span<task* const> shares, elastic_place at) override {
        if (is_counted(*shares[0])) // it may end before the others
            for (task* const t : shares.subspan(1)) comes(w, *t);
        if (is_molding())
            present().assemble(w, shares, at);
        else
            apart_of(w).share = shares[0];
    }
    bool keeps_share(worker_id w) override {
        return apart_of(w).share != nullptr || present().keeps_share(w);
    }

    /// Under the lock, so that no tick comes to a candidate that is no longer present: it would exchange cores.
    void tick(time_ns now) override {
        const held_lock here(guard_);
        const time_ns period = needs_[present_index_].tick;
        if (period == 0 || now / period == last_tick_) return;
        last_tick_ = now / period;
        policies_[present_index_]->tick(now);
    }

    void resized(workers active) override {
        for (const auto& p : policies_) p->resized(active);
    }

    // ---- memory and report

    void keep() noexcept override { places_.keep(copy_of_places()); }
    policy_choices choices() override { return places_.describe(copy_of_places()); }

private:
    struct alignas(queue::k_cache_line_bytes) apart {
        queue::cell<std::uint64_t> came, ended; ///< see above; only its worker writes
        task* share = nullptr; ///< of mold() without a candidate that molds; its worker's alone
        /// From the last next(), and counted here in its stead until it starts or is turned away; its worker's alone.
        const task* at_gate = nullptr;
    };

    static void count(queue::cell<std::uint64_t>& c) noexcept { c.store_release(c.load_relaxed() + 1); }

    /// No such task has begun and not ended. A sum of all ends, then one of all arrivals: if the two are equal, there was a moment between
    /// them at which no task was open, and only a root could have made another one.
    bool none_is_apart() const noexcept {
        std::uint64_t ended = 0, came = 0;
        const auto all = std::span(apart_.get(), static_cast<std::size_t>(context_->all().size()));
        for (const apart& a : all) ended += a.ended.load_acquire(); // pairs with count()
        for (const apart& a : all) came += a.came.load_acquire();
        return came == ended;
    }

    std::vector<program_places::place> copy_of_places() {
        std::vector<program_places::place> seen(program_places::most); // allocated before the lock is taken
        std::size_t count = 0;
        {
            const held_lock here(guard_);
            count = places_.copy(std::span(seen).first<program_places::most>());
        }
        seen.resize(count);
        return seen;
    }

    static std::uint16_t round_up(std::uint16_t n) noexcept {
        return static_cast<std::uint16_t>((n + sizeof(task*) - 1) / sizeof(task*) * sizeof(task*));
    }

    /// Throws weft::error for a candidate that needs what the others could not bear.
    void add(requirements& all, const requirements& n, const std::string& name) const {
        const char* const lacks = n.posts        ? "sends messages, which may be on their way when a run ends"
                                  : n.locks      ? "is told of locks"
                                  : n.own_misses ? "reads counters, which cost time under each candidate"
                                  : n.follows_runs ? "follows runs itself"
                                                   : nullptr;
        if (lacks != nullptr)
            throw error(fmt::format("policy auto: the candidate {}", lacks), fmt::format("'{}'", name),
                        "policies without that");
        all.task_bytes = std::max(all.task_bytes, n.task_bytes);
        all.group_bytes = std::max(all.group_bytes, n.group_bytes);
        if (round_up(all.task_bytes) + sizeof(task*) > max_task_bytes)
            throw error("policy auto: the candidate keeps too much in each task",
                        fmt::format("'{}': {} bytes", name, n.task_bytes),
                        fmt::format("at most {}", max_task_bytes - sizeof(task*)));
        all.wide_groups |= n.wide_groups;
        all.offers_ahead |= n.offers_ahead;
        all.own_usage |= n.own_usage;
        all.demotable &= n.demotable || n.lazy;
        all.resizable &= n.resizable;
        all.uses |= n.uses;
        all.levels |= n.levels;
        all.snapshots |= n.snapshots;
        all.exchanges |= n.exchanges;
        all.most_width = std::max(all.most_width, n.most_width);
        // The shortest one serves all: tick() leaves out what comes too early for the present candidate.
        if (n.tick > 0) all.tick = all.tick == 0 ? n.tick : std::min(all.tick, n.tick);
    }

    static root_zone zone_of(const requirements& n) noexcept {
        return {n.lazy, n.graph_tasks, n.most_width > 0};
    }

    /// Candidates know on which core each worker began, and no other's exchanges. Under guard_, and without tasks (I1).
    void go_home() {
        const int count = context_->all().size();
        const auto home = [&](worker_id w) { return home_[static_cast<std::size_t>(w)]; };
        for (worker_id w = 0; w < count; ++w)
            for (worker_id v = w + 1; v < count && context_->core_of(w) != home(w); ++v)
                if (context_->core_of(v) == home(w)) context_->exchange(w, v);
    }

    policy& present() const noexcept { return *present_.load_relaxed(); }
    bool is_molding() const noexcept { return molds_.load_relaxed(); } // for a task that is open: I1
    bool is_counted(task& t) const noexcept { return mark(t) == &t; }  // I2
    void comes(worker_id w, task& t) noexcept {
        if (t.is_root_ || is_counted(t)) return;
        mark(t) = &t;
        count(apart_of(w).came);
    }
    void leaves(worker_id w, task& t) noexcept {
        if (!is_counted(t)) return;
        mark(t) = nullptr;
        count(apart_of(w).ended);
    }
    /// The gate has let the task of the last next() through.
    void passes(worker_id w, task& t) noexcept {
        if (apart_of(w).at_gate != &t) return;
        apart_of(w).at_gate = nullptr;
        mark(t) = &t;
    }
    task*& mark(task& t) const noexcept { return *reinterpret_cast<task**>(&t.data<std::byte>() + mark_at_); }
    apart& apart_of(worker_id w) noexcept { return apart_[static_cast<std::size_t>(w)]; }

    const std::string of_;
    const double share_; ///< of 1
    const std::string memory_;
    policy_context* context_ = nullptr;
    std::vector<std::string> names_;
    std::vector<std::unique_ptr<policy>> policies_;
    std::vector<requirements> needs_;
    std::vector<int> home_;   ///< of each worker: its core at attach()
    std::size_t mark_at_ = 0; ///< in a task's bytes
    queue::cell<policy*> present_{nullptr};
    queue::cell<bool> molds_{false}; ///< the present one does; written with present_
    std::unique_ptr<apart[]> apart_;

    queue::spin_lock<> guard_;
    // ---- under guard_
    std::uint32_t present_index_ = 0;
    time_ns last_tick_ = 0; ///< of the present candidate, in its periods
    struct run {
        program_places::place* of = nullptr;
        std::uint32_t candidate = 0;
        time_ns began = 0;
        bool is_measured = false;
    } run_;
    program_places places_;
};

} // namespace

extern constinit const policy_entry auto_entry{
    .name = "auto",
    .summary = "the fastest of a few policies for each place of the program, found by trials in its runs",
    .source = "ours; candidates by the rules of `weft advise`, after Chen & Guo 2017, chapter 9",
    .helps = "programs that come back to the same places, on any machine",
    .knobs = auto_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<automatic>(std::string(values.text("of")),
                                           static_cast<double>(values.integer("share")) / 100,
                                           std::string(values.text("memory")));
    },
};

} // namespace weft::policies
