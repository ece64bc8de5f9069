#pragma once

// The example of docs/adding-a-policy.md, which shows the lines between the markers unchanged.

// [example]
#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "queue/cache_line.hpp"

/// Goes back to the victim that had work the last time; draws a new one after a look that failed.
///
///   A folk variant of random stealing; here as an example.
namespace weft::policies {
namespace {

constexpr knob last_victim_knobs[] = {
    {"patience", "2", "1..100", "failed looks in a row at the same victim before a new one is drawn"},
};

class last_victim final : public policy {
public:
    explicit last_victim(int patience) : patience_(patience) {}

    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        memories_ = std::make_unique<memory[]>(static_cast<std::size_t>(context.all().size()));
        return {.lazy = true, .resizable = true};
    }

    placement ready(worker_id w, task& t, ready_reason reason) override { return places_.put(w, t, reason); }

    decision next(worker_id w, bool last_look) override {
        if (const decision own = places_.own(w, last_look); own.t != nullptr) return own;
        memory& m = memories_[static_cast<std::size_t>(w)];
        if (m.victim < 0 || m.failures >= patience_) m = {places_.random_victim(w), 0};
        if (m.victim < 0) return {}; // alone
        if (last_look) return places_.look_everywhere(w, m.victim);
        const places::look_result found = places_.look(m.victim);
        m.failures = found.t != nullptr ? 0 : m.failures + 1;
        return {found.t, m.victim, found.t == nullptr && !found.lost};
    }

    workers victims(worker_id) override { return context_->all(); }

private:
    struct alignas(queue::k_cache_line_bytes) memory { // only its worker touches it
        worker_id victim = -1;
        int failures = 0;
    };

    const int patience_;
    policy_context* context_ = nullptr;
    places places_;
    std::unique_ptr<memory[]> memories_;
};

} // namespace

extern constinit const policy_entry last_victim_entry{
    .name = "last-victim",
    .summary = "random stealing that goes back to the last victim",
    .source = "folklore",
    .helps = "few cores, of which one has all the work for a while",
    .knobs = last_victim_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<last_victim>(static_cast<int>(values.integer("patience")));
    },
};

} // namespace weft::policies
// [example]
