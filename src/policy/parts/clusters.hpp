#pragma once

#include "policy/parts/places.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cell.hpp"
#include "queue/sync.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// What the policies for machines of machines have in common. A cluster is a package of the machine, a node
/// one of its workers.
namespace weft {

/// Which worker is in which cluster. Cores stay under their workers: only a policy with
/// requirements::exchanges changes that.
class clusters {
public:
    /// Allocates: for policy::attach.
    void attach(const machine& m, policy_context& context) {
        context_ = &context;
        members_.resize(m.packages().size());
        for (worker_id w = 0; w < context.all().size(); ++w) {
            const int c = m.package_of(context.core_of(w));
            of_.push_back(c);
            index_.push_back(static_cast<int>(members_[at(c)].size()));
            members_[at(c)].push_back(w);
        }
        for (const auto& list : members_) populated_ += list.empty() ? 0 : 1;
    }

    int count() const noexcept { return static_cast<int>(members_.size()); } ///< also those without workers
    bool several() const noexcept { return populated_ > 1; }
    int of(worker_id w) const noexcept { return of_[at(w)]; }
    /// In rank order.
    const std::vector<worker_id>& members(int cluster) const noexcept { return members_[at(cluster)]; }
    int index_in_cluster(worker_id w) const noexcept { return index_[at(w)]; }
    worker_id head(int cluster) const noexcept { return members(cluster).front(); }

    /// Uniform among the other nodes of its cluster; -1 if there is none.
    worker_id draw_near(worker_id w) {
        const auto& all = members(of(w));
        if (all.size() < 2) return -1;
        const auto drawn = context_->random(w, static_cast<std::uint32_t>(all.size() - 1));
        return all[drawn < static_cast<std::uint32_t>(index_in_cluster(w)) ? drawn : drawn + 1];
    }
    /// Uniform among the other clusters that have nodes; -1 if there is none.
    int draw_cluster(worker_id w) {
        if (!several()) return -1;
        auto left = context_->random(w, static_cast<std::uint32_t>(populated_ - 1));
        for (int c = 0;; ++c) {
            if (c == of(w) || members(c).empty()) continue;
            if (left-- == 0) return c;
        }
    }
    /// Uniform in a cluster drawn so.
    worker_id draw_far(worker_id w) {
        const int c = draw_cluster(w);
        if (c < 0) return -1;
        const auto& all = members(c);
        return all[context_->random(w, static_cast<std::uint32_t>(all.size()))];
    }

private:
    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

    policy_context* context_ = nullptr;
    std::vector<std::vector<worker_id>> members_;
    std::vector<int> of_, index_;
    int populated_ = 0;
};

/// How many tasks have been put somewhere so far: who found nothing anywhere need not send messages before
/// that has changed. Without it, sleepers would wake each other by their questions for ever.
class news {
public:
    void attach(int workers) {
        mine_ = std::make_unique<one[]>(static_cast<std::size_t>(workers));
        count_ = static_cast<std::size_t>(workers);
    }
    void add(worker_id w) noexcept { mine_[static_cast<std::size_t>(w)].puts.add(1); }
    std::uint32_t heard() const noexcept {
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < count_; ++i) sum += mine_[i].puts.load_relaxed();
        return sum;
    }

private:
    struct alignas(queue::k_cache_line_bytes) one {
        queue::cell<std::uint32_t> puts;
    };
    std::unique_ptr<one[]> mine_;
    std::size_t count_ = 0;
};

/// A deque a worker, spawned children offered, and how to send one of them on. In spite of all that is said
/// about who takes from where, a worker that is about to sleep looks everywhere: workers share their memory,
/// and nothing waits behind a busy one for ever. Who never sleeps (WEFT_SPIN=forever) does as the papers say.
class cluster_policy : public policy {
public:
    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        nodes_.attach(m, context);
        news_.attach(context.all().size());
        busy_ = std::make_unique<flag[]>(static_cast<std::size_t>(context.all().size()));
        return {.demotable = true, .resizable = true, .posts = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override {
        news_.add(w);
        return places_.put(w, t, reason);
    }

    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }

protected:
    /// The nearest first.
    decision last_look(worker_id w) {
        for (const bool near : {true, false})
            for (int i = 1; i < places_.workers_in_all(); ++i) {
                const worker_id v = (w + i) % places_.workers_in_all();
                if ((nodes_.of(v) == nodes_.of(w)) != near) continue;
                if (task* const t = places_.look_hard(v)) return {t, v};
            }
        return {nullptr, w};
    }

    /// What next() answers.
    decision decided(worker_id w, decision p) noexcept {
        busy_[static_cast<std::size_t>(w)].is_set = p.t != nullptr;
        return p;
    }
    /// What `w` gives to who asks by a message: its oldest task, but only while it runs another one. Else two
    /// idle workers that have asked each other may send a task to and fro for ever, each time before it is
    /// begun.
    task* spare(worker_id w) noexcept {
        return busy_[static_cast<std::size_t>(w)].is_set ? places_.look(w).t : nullptr;
    }

    /// For policies in which workers need not look elsewhere: R2 of places.hpp has them do so all the same.
    decision look_for_yielded(worker_id w) {
        const worker_id v = places_.keeps_behind(w) ? places_.random_victim(w) : -1;
        return v < 0 ? decision{nullptr, w} : decision{places_.look(v).t, v};
    }

    /// One that has come by a message.
    placement arrived(worker_id w, task& t) {
        news_.add(w);
        return places_.put_behind(w, t);
    }

    policy_context* context_ = nullptr;
    places places_;
    clusters nodes_;
    news news_;

private:
    struct alignas(queue::k_cache_line_bytes) flag { // the worker's alone: it runs a task
        bool is_set = false;
    };
    std::unique_ptr<flag[]> busy_;
};

/// When a worker, or a cluster's head, may ask far away: it has not given up, or something has been put
/// anywhere since.
struct courage {
    bool gave_up = false;
    std::uint32_t heard = 0;

    bool may_ask(const news& n) noexcept {
        if (gave_up && n.heard() != heard) gave_up = false;
        return !gave_up;
    }
    void give_up(std::uint32_t at) noexcept {
        gave_up = true;
        heard = at;
    }
};

} // namespace weft
