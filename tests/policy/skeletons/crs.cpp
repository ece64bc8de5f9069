#include "policy/places.hpp"

#include "queue/cell.hpp"

#include <memory>

/// Cluster-aware random stealing: R. V. van Nieuwpoort, T. Kielmann, H. E. Bal: Efficient load balancing for
/// wide-area divide-and-conquer applications. PPoPP 2001; Chen & Guo 2017, 4.3.4, Algorithm 4.
///
/// A worker without work sends one request to a random worker of another cluster and, while that is under
/// way, goes on stealing inside its own. A cluster is a package of the machine here.
namespace weft::policies::skeletons {
namespace {

class crs : public policy {
    enum message_kind : int { request, reply };

public:
    requirements attach(const machine& m, policy_context& context) override {
        machine_ = &m;
        context_ = &context;
        places_.attach(context);
        stealing_remotely_ = std::make_unique<bool[]>(static_cast<std::size_t>(context.all().size()));
        return {.resizable = false};
    }

    placed ready(worker_id w, task& t, why reason) override { return places_.put(w, t, reason); }

    pick next(worker_id w, bool last_look) override {
        if (const pick own = places_.own(w, last_look); own.t != nullptr) return own;
        bool& under_way = stealing_remotely_[static_cast<std::size_t>(w)];
        if (!under_way && machine_->packages().size() > 1) {
            const worker_id far = draw(w, false);
            if (far >= 0) {
                under_way = true; // not cancelled when a local task is found
                context_->post(w, far, request);
            }
        }
        const worker_id near = draw(w, true);
        if (near < 0) return {};
        task* const t = places_.look(near).t;
        return {t, near, t == nullptr};
    }

    // A parked worker keeps asking in its own cluster; the answer from outside arrives as a message and wakes
    // it.
    workers victims(worker_id w) override {
        const rank_range all_near = machine_->packages()[static_cast<std::size_t>(cluster_of(w))].ranks;
        return {all_near.first, all_near.last};
    }

    // Reported: a hidden frame could not be sent in answer to a message.
    order spawn(worker_id, task&, task&) override { return order::child_first; }

    placed message(worker_id w, worker_id from, int kind, task* t) override {
        if (kind == request) {
            context_->post(w, from, reply, places_.look(w).t); // the oldest, or nothing: an answer either way
            return {};
        }
        stealing_remotely_[static_cast<std::size_t>(w)] = false;
        return t != nullptr ? places_.put(w, *t, why::spawned) : placed{};
    }

private:
    int cluster_of(worker_id w) const { return machine_->package_of(context_->core_of(w)); }

    worker_id draw(worker_id w, bool local) {
        const workers all = context_->all();
        const auto offset = static_cast<int>(context_->random(w, static_cast<std::uint32_t>(all.size())));
        for (int i = 0; i < all.size(); ++i) { // sketch: uniform enough
            const worker_id v = all.first + (offset + i) % all.size();
            if (v != w && (cluster_of(v) == cluster_of(w)) == local) return v;
        }
        return -1;
    }

    const machine* machine_ = nullptr;
    policy_context* context_ = nullptr;
    places places_;
    std::unique_ptr<bool[]> stealing_remotely_; // each by its worker alone
};

[[maybe_unused]] const auto make = [] { return std::make_unique<crs>(); };

} // namespace
} // namespace weft::policies::skeletons
