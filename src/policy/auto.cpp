#include "policy/parts/code_place.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/parts/kept_choices.hpp"
#include "policy/parts/place_trials.hpp"
#include "policy/seam/registry.hpp"

#include "machine/machine.hpp"
#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"
#include "task/task_class.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
/// Tasks that no root waits for (futures, tasks of graphs) may outlive their run. They come by ready() without a parent, and are
/// counted until they end. While there are any the present candidate stays, and the run is not measured.
///
/// An idle worker may still be in next() of the former candidate when another becomes present. It finds nothing there. Its last look
/// before it sleeps is as good as one that finds an empty place: the pointer to the present candidate is written before the root is
/// handed in, so the fences of the sleep protocol order it as they order what ready() writes.
///
/// The instance of a team is told of no runs, and stays with the first candidate, `steal`.
///
///   word            | writer                             | readers      | order
///   present_        | run_begins, under the engine's lock | all workers  | relaxed: see above
///   apart::came,    | the worker of the line              | the engine's | release, acquire: the sums would otherwise
///   ended           |                                    | thread       | miss what came before an end
///
/// Invariants:
/// I1. The present candidate changes only while no task is in any place, runs or is blocked.
/// I2. The bytes of a task behind those of the candidates hold its own address if and only if it is counted: a frame has a copy of
///     them, but lies elsewhere.
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

class automatic final : public policy {
public:
    automatic(std::string of, double share, std::string memory)
        : of_(std::move(of))
        , share_(share)
        , memory_(std::move(memory)) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        names_ = of_ == "rules" ? candidates_for(m, context.all().size()) : listed(of_);
        apart_ = std::make_unique<apart[]>(static_cast<std::size_t>(context.all().size()));
        requirements all{.demotable = true, .resizable = true, .follows_runs = true};
        for (const std::string& name : names_) {
            policies_.push_back(make_policy(name));
            needs_.push_back(policies_.back()->attach(m, context));
            add(all, needs_.back(), name);
        }
        mark_at_ = all.task_bytes = round_up(all.task_bytes);
        all.task_bytes = static_cast<std::uint16_t>(all.task_bytes + sizeof(task*));
        all.lazy = needs_.front().lazy;
        all.graph_tasks = needs_.front().graph_tasks;
        present_.store_relaxed(policies_.front().get());
        open_memory(m, context);
        return all;
    }

    // ---- which candidate is present

    root_zone run_begins(const task& root, time_ns now) override {
        const held_lock here(guard_);
        place& p = place_of(root);
        run_ = {.of = &p, .candidate = present_index_, .began = now, .is_measured = none_is_apart()};
        if (run_.is_measured) run_.candidate = trials(p).next();
        if (run_.candidate != present_index_) { // I1: nothing was apart
            present_index_ = run_.candidate;
            present_.store_relaxed(policies_[present_index_].get());
            context_->wake(context_->all()); // sleepers read the victims again
        }
        const requirements& need = needs_[present_index_];
        return {need.lazy, need.graph_tasks};
    }

    void run_ended(time_ns now) override {
        const held_lock here(guard_);
        place& p = *run_.of;
        ++p.runs;
        has_news_ = true;
        if (run_.is_measured)
            trials(p).took(run_.candidate, now - run_.began);
        else
            trials(p).missed();
    }

    // ---- hooks with tasks

    placement ready(worker_id w, task& t, ready_reason reason) override {
        if ((reason == ready_reason::spawned || reason == ready_reason::released) && t.parent() == nullptr &&
            mark(t) != &t) {
            mark(t) = &t;
            count(apart_of(w).came);
        }
        return present().ready(w, t, reason);
    }
    void finished(worker_id w, task& t, const usage& used) override {
        const bool is_counted = mark(t) == &t; // I2
        present().finished(w, t, used);
        if (is_counted) count(apart_of(w).ended);
    }

    decision next(worker_id w, bool last_look) override { return present().next(w, last_look); }
    workers victims(worker_id w) override { return present().victims(w); }
    spawn_order spawn(worker_id w, task& parent, task& child) override {
        return present().spawn(w, parent, child);
    }
    bool queues_child(worker_id w) override { return present().queues_child(w); }
    int pieces(worker_id w, task& loop) override { return present().pieces(w, loop); }
    void group_begin(worker_id w, task& t, group& g) override { present().group_begin(w, t, g); }
    after_wait group_wait(worker_id w, task& t, group& g) override { return present().group_wait(w, t, g); }
    void group_end(worker_id w, task& t, group& g) override { present().group_end(w, t, g); }
    void started(worker_id w, task& t) override { present().started(w, t); }
    void blocked(worker_id w, task& t, ready_reason reason) override { present().blocked(w, t, reason); }
    void resumed(worker_id w, task& t) override { present().resumed(w, t); }
    void iteration(worker_id w, task& t, int k) override { present().iteration(w, t, k); }
    void graph_grew(worker_id w, const graph_view& g) override { present().graph_grew(w, g); }
    bool gives_way(worker_id w, const task& t) override { return present().gives_way(w, t); }
    void resized(workers active) override {
        for (const auto& p : policies_) p->resized(active);
    }

    // ---- memory and report

    void keep() noexcept override {
        if (!kept_ || !std::exchange(has_news_, false)) return;
        std::vector<kept_place> all;
        for (std::size_t i = 0; i < used_; ++i)
            if (const place& p = places_[i]; p.record.runs > 0) {
                kept_place& k = all.emplace_back(kept_place{std::string(p.name()), p.record});
                if (p.runs == 0) continue; // not seen in this process
                k.record.last = p.runs == 1 ? place_record::any_run : place_record::no_run;
                k.record.is_warm = false;
            }
        const std::string failure = kept_->write(all);
        said_ = failure.empty() ? fmt::format("kept in {}", kept_->file().string())
                                : fmt::format("not kept: {}", failure);
    }

    policy_choices choices() override {
        std::vector<place> seen(most_places + 1); // allocated before the lock is taken
        std::size_t count = 0;
        {
            const held_lock here(guard_);
            for (const place& p : std::span(places_).first(used_))
                if (p.runs > 0) seen[count++] = p;
        }
        policy_choices found{.places = {}, .memory = said_};
        for (place& p : std::span(seen).first(count))
            found.places.push_back({.place = std::string(p.name()),
                                    .chosen = names_[p.record.best],
                                    .state = trials(p).is_decided() ? "decided" : "other policies are tried",
                                    .runs = p.runs,
                                    .compared = p.record.compared});
        return found;
    }

private:
    static constexpr std::size_t most_places = 64; ///< the last one is shared by all further ones
    static constexpr std::size_t most_name = 128;

    struct place {
        std::uint64_t key =
            0; ///< class_of() its roots; 0: kept by an earlier process, and not seen in this one
        std::size_t length = 0;
        std::array<char, most_name> text{};
        place_record record{};
        std::uint64_t runs = 0; ///< of this process

        std::string_view name() const noexcept { return {text.data(), length}; }
    };

    /// Tasks without a parent, but roots: only its worker writes.
    struct alignas(queue::k_cache_line_bytes) apart {
        queue::cell<std::uint64_t> came, ended;
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

    static std::uint16_t round_up(std::uint16_t n) noexcept {
        return static_cast<std::uint16_t>((n + sizeof(task*) - 1) / sizeof(task*) * sizeof(task*));
    }

    /// Throws weft::error for a candidate that needs what the others could not bear.
    void add(requirements& all, const requirements& n, const std::string& name) const {
        const char* const lacks = n.posts        ? "sends messages, which may be on their way when a run ends"
                                  : n.locks      ? "is told of locks"
                                  : n.own_misses ? "reads counters, which cost time under each candidate"
                                  : n.tick > 0   ? "is called by a timer"
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
    }

    policy& present() const noexcept { return *present_.load_relaxed(); }
    task*& mark(task& t) const noexcept { return *reinterpret_cast<task**>(&t.data<std::byte>() + mark_at_); }
    apart& apart_of(worker_id w) noexcept { return apart_[static_cast<std::size_t>(w)]; }
    place_trials trials(place& p) const {
        return {p.record, static_cast<std::uint32_t>(names_.size()), share_};
    }

    void open_memory(const machine& m, const policy_context& context) {
        const bool by_default = memory_ == "default";
        if (memory_ == "off" || (by_default && m.is_modelled())) {
            said_ = "off";
            return;
        }
        const auto where = by_default ? folder_of_choices() : std::filesystem::path(memory_);
        if (where.empty()) {
            said_ = "off";
            return;
        }
        kept_ = std::make_unique<kept_choices>(where, m, context, names_);
        for (const kept_place& k : kept_->read()) {
            if (used_ + 1 == most_places) break;
            place& p = places_[used_++];
            p.length = k.name.copy(p.text.data(), most_name);
            p.record = k.record;
        }
        said_ = fmt::format("{} places known from {}", used_, kept_->file().string());
    }

    /// Under guard_.
    place& place_of(const task& root) noexcept {
        const std::uint64_t key = class_of(root);
        const auto known = std::span(places_).first(used_);
        if (const auto p = std::ranges::find(known, key, &place::key); p != known.end()) return *p;
        std::array<char, most_name> room{};
        const std::string_view name = name_of(root, room);
        for (place& p : known)
            if (p.key == 0 && p.name() == name) {
                p.key = key;
                return p;
            }
        const bool is_last = used_ + 1 >= most_places;
        place& p = places_[is_last ? most_places - 1 : used_];
        if (!is_last || used_ < most_places) ++used_;
        if (p.length == 0) {
            p.length = (is_last ? std::string_view("others") : name).copy(p.text.data(), most_name);
            p.key = is_last ? 1 : key;
        }
        return p;
    }

    static std::string_view name_of(const task& root, std::span<char> room) noexcept {
        const std::string_view given = root.hint().name;
        if (given.empty()) {
            const auto found = name_of_code(reinterpret_cast<const void*>(root.call_), room);
            return found.empty() ? "unknown" : found;
        }
        const std::size_t n = given.copy(room.data(), room.size());
        std::ranges::replace_if(
            room.first(n), [](char c) { return static_cast<unsigned char>(c) <= ' '; }, '_');
        return {room.data(), n};
    }

    const std::string of_;
    const double share_; ///< of 1
    const std::string memory_;
    policy_context* context_ = nullptr;
    std::vector<std::string> names_;
    std::vector<std::unique_ptr<policy>> policies_;
    std::vector<requirements> needs_;
    std::size_t mark_at_ = 0; ///< in a task's bytes
    queue::cell<policy*> present_{nullptr};
    std::unique_ptr<apart[]> apart_;

    queue::spin_lock<> guard_;
    // ---- under guard_
    std::uint32_t present_index_ = 0;
    struct run {
        place* of = nullptr;
        std::uint32_t candidate = 0;
        time_ns began = 0;
        bool is_measured = false;
    } run_;
    std::size_t used_ = 0; ///< of places_
    std::array<place, most_places> places_{};

    std::unique_ptr<kept_choices> kept_; ///< null: nothing is kept
    bool has_news_ = false;
    std::string said_; ///< of the memory; changes in keep() only
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
