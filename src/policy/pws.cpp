#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "machine/domains.hpp"
#include "machine/machine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

/// Probability work stealing: random stealing that prefers near victims.
///
///   J.-N. Quintin, F. Wagner: Hierarchical work-stealing. Euro-Par 2010; Q. Chen, M. Guo: Task Scheduling
///   for Multi-core and Parallel Architectures. Springer 2017, 3.2.3.
///
/// Thief w takes victim v with the probability
///
///     P(v) = (1 / d(w, v)) / (sum over u != w of 1 / d(w, u))
///
/// where d is the distance of their cores. The book leaves the distances to a description of the hierarchy.
/// Here they are the machine's: 1 under a common inner cache, 2 in a cache domain, up to 4 in a package, 3 +
/// d beyond. Two workers on one core have half the distance of the nearest cores. With `across`, the distance
/// is 1 inside of a socket and `across` outside. Weights are kept in fixed point, so no victim has the weight
/// 0, and the same seed draws the same victims everywhere.
namespace weft::policies {
namespace {

constexpr knob pws_knobs[] = {
    {"across", "0", "0..10000",
     "distance to a worker of another cache domain, where those of the own one are at 1; 0: the machine's"},
    wide_knob(),
};

class probability_stealing final : public policy {
public:
    probability_stealing(int across, bool queues) : across_(across), queues_(queues) {}

    requirements attach(const machine& m, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        cores_ = static_cast<std::size_t>(m.size());
        const domains sockets(m, domain_kind::last_level_cache);
        weights_.resize(cores_ * cores_);
        for (std::size_t from = 0; from < cores_; ++from)
            for (std::size_t to = 0; to < cores_; ++to)
                weights_[from * cores_ + to] =
                    weight_at(distance(m, sockets, static_cast<int>(from), static_cast<int>(to)));
        return {.lazy = true, .wide_groups = queues_, .offers_ahead = queues_, .resizable = true};
    }

    bool queues_child(worker_id w) override { return places_.queues_child(w); }

    placement ready(worker_id w, task& t, ready_reason reason) override { return places_.put(w, t, reason); }

    decision next(worker_id w, bool last_look) override {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        const worker_id victim = draw(w);
        if (victim < 0) return {};
        const auto much = queues_ ? places::thief_takes::half : places::thief_takes::one;
        if (last_look) return places_.look_everywhere(w, victim, much);
        const places::look_result found = places_.look(w, victim, much);
        return {found.t, victim, found.t == nullptr && !found.lost, found.moved};
    }

    workers victims(worker_id) override { return context_->all(); }

private:
    static constexpr double one = 1 << 16; ///< weight of distance 1; 16,000 workers have room in 32 bits

    double distance(const machine& m, const domains& sockets, int from, int to) const {
        if (across_ > 0) return sockets.of(from) == sockets.of(to) ? 1 : across_;
        return std::max(0.5, m.distance(from, to));
    }
    static std::uint32_t weight_at(double distance) {
        return static_cast<std::uint32_t>(std::max(1.0, std::round(one / distance)));
    }

    std::uint32_t weight(int core, worker_id other) const {
        return weights_[static_cast<std::size_t>(core) * cores_ +
                        static_cast<std::size_t>(context_->core_of(other))];
    }

    /// -1 if there is no other worker.
    worker_id draw(worker_id w) {
        const int core = context_->core_of(w), count = places_.workers_in_all();
        std::uint32_t sum = 0;
        for (worker_id v = 0; v < count; ++v) sum += v == w ? 0 : weight(core, v);
        if (sum == 0) return -1;
        std::uint32_t left = context_->random(w, sum);
        worker_id victim = -1; // if workers change cores meanwhile, the last one passed is the victim
        for (worker_id v = 0; v < count; ++v) {
            if (v == w) continue;
            victim = v;
            const std::uint32_t own = weight(core, v);
            if (left < own) break;
            left -= own;
        }
        return victim;
    }

    const int across_;
    const bool queues_;
    policy_context* context_ = nullptr;
    places places_;
    std::size_t cores_ = 0;
    std::vector<std::uint32_t> weights_; // [from core][to core]
};

} // namespace

extern constinit const policy_entry pws_entry{
    .name = "pws",
    .summary = "random stealing, each victim with a probability that falls with its distance",
    .source = "Quintin & Wagner, Euro-Par 2010; Chen & Guo 2017, 3.2.3",
    .helps = "machines of several packages or cache domains; a far victim is never out of reach",
    .knobs = pws_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<probability_stealing>(static_cast<int>(values.integer("across")),
                                                      values.is("wide", "queue"));
    },
};

} // namespace weft::policies
