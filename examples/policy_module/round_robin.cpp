#include <weft/policy/module.hpp>
#include <weft/policy/parts/places.hpp>

#include <memory>

/// Round-robin stealing: a thief goes from victim to victim in a fixed circle, and draws no random numbers.
///
///   A folk variant of random stealing; here as an example of a policy outside of Weft's own tree.
namespace {

constexpr weft::knob round_robin_knobs[] = {
    {"step", "1", "1..1000", "how many workers further the next victim is"},
};

class round_robin final : public weft::policy {
public:
    explicit round_robin(int step) : step_(step) {}

    weft::requirements attach(const weft::machine&, weft::policy_context& context) override {
        context_ = &context;
        places_.attach(context);
        last_ = std::make_unique<last_victim[]>(static_cast<std::size_t>(context.all().size()));
        return {.lazy = true, .resizable = true};
    }

    weft::placement ready(weft::worker_id w, weft::task& t, weft::ready_reason reason) override {
        return places_.put(w, t, reason);
    }

    weft::decision next(weft::worker_id w, bool last_look) override {
        if (const weft::decision own = places_.own(w, last_look); own.t != nullptr) return own;
        const int others = places_.workers_in_all() - 1;
        if (others == 0) return {};
        int& turn = last_[static_cast<std::size_t>(w)].turn;
        turn = (turn + step_) % others;
        const weft::worker_id victim = (w + 1 + turn) % (others + 1);
        if (last_look) return places_.look_everywhere(w, victim); // the worker sleeps next
        const weft::places::look_result found = places_.look(victim);
        return {found.t, victim,
                found.t == nullptr && !found.lost}; // if there is nothing, ask for a hidden frame
    }

    weft::workers victims(weft::worker_id) override { return context_->all(); }

private:
    struct alignas(weft::queue::k_cache_line_bytes) last_victim { // only its worker touches it
        int turn = 0;                                             // 0: the worker behind this one
    };

    const int step_;
    weft::policy_context* context_ = nullptr;
    weft::places places_;
    std::unique_ptr<last_victim[]> last_;
};

constexpr weft::policy_entry round_robin_entry{
    .name = "round-robin",
    .summary = "stealing from one victim after the other",
    .source = "folklore",
    .helps = "runs that are to be the same whatever the seed is",
    .knobs = round_robin_knobs,
    .make = [](const weft::knob_values& values) -> std::unique_ptr<weft::policy> {
        return std::make_unique<round_robin>(static_cast<int>(values.integer("step")));
    },
};

} // namespace

WEFT_POLICY_MODULE(round_robin_entry);
