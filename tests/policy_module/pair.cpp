#include <weft/error.hpp>
#include <weft/policy/module.hpp>

// Two policies, of which one is another policy of the library, and one refuses every machine.
namespace {

struct picky final : weft::policy {
    weft::requirements attach(const weft::machine& m, weft::policy_context&) override {
        throw weft::error("the machine is not good enough", m.name(), "none");
    }
    weft::placement ready(weft::worker_id, weft::task&, weft::ready_reason) override { return {}; }
    weft::decision next(weft::worker_id, bool) override { return {}; }
};

constexpr weft::knob wrapper_knobs[] = {{"of", "share", "policy", "the policy that it is"}};

constexpr weft::policy_entry wrapper{
    .name = "wrapper",
    .summary = "another policy",
    .source = "none",
    .knobs = wrapper_knobs,
    .make = [](const weft::knob_values& values) { return weft::make_host_policy(values.text("of")); },
};

constexpr weft::policy_entry picky_entry{
    .name = "picky",
    .summary = "refuses every machine",
    .source = "none",
    .knobs = {},
    .make = [](const weft::knob_values&) -> std::unique_ptr<weft::policy> {
        return std::make_unique<picky>();
    },
};

} // namespace

WEFT_POLICY_MODULE(wrapper, picky_entry);
