#pragma once

#include "policy/seam/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

/// Which workers share a last-level cache: what the policies share whose sources speak of sockets.
///
/// A socket is a cache domain of the machine. On a machine whose packages have one last-level cache each, as
/// those of the papers, it is the package. Which worker is on which core may change at any time, so that is
/// asked for at each look.
namespace weft {

class sockets {
public:
    /// Allocates: for policy::attach.
    void attach(const machine& m, policy_context& context) {
        context_ = &context;
        for (int core = 0; core < m.size(); ++core) of_core_.push_back(m.domain_of(core));
        others_.resize(m.domains().size());
        for (std::size_t from = 0; from < others_.size(); ++from) {
            for (int to = 0; to < count(); ++to)
                if (to != static_cast<int>(from)) others_[from].push_back(to);
            std::ranges::stable_sort(others_[from], {}, [&](int to) {
                return m.distance(m.domains()[from].ranks.first,
                                  m.domains()[static_cast<std::size_t>(to)].ranks.first);
            });
        }
    }

    int count() const noexcept { return static_cast<int>(others_.size()); }
    int of(worker_id w) const noexcept { return of_core_[static_cast<std::size_t>(context_->core_of(w))]; }

    /// All sockets but this one, nearest first.
    const std::vector<int>& others(int socket) const noexcept {
        return others_[static_cast<std::size_t>(socket)];
    }

    /// How many workers are on that socket now.
    int workers_on(int socket) const noexcept {
        int found = 0;
        const workers all = context_->all();
        for (worker_id w = all.first; w < all.last; ++w) found += of(w) == socket ? 1 : 0;
        return found;
    }

    /// Uniform among the other workers on the socket of `w`; -1 if there is none.
    worker_id random_neighbour(worker_id w) {
        const int socket = of(w);
        const int choice = workers_on(socket) - 1;
        if (choice < 1) return -1;
        auto left = context_->random(w, static_cast<std::uint32_t>(choice));
        worker_id victim = -1; // workers may move between the counting and this: then the last one passed
        const workers all = context_->all();
        for (worker_id v = all.first; v < all.last; ++v) {
            if (v == w || of(v) != socket) continue;
            victim = v;
            if (left-- == 0) break;
        }
        return victim;
    }

private:
    policy_context* context_ = nullptr;
    std::vector<int> of_core_;
    std::vector<std::vector<int>> others_;
};

} // namespace weft
