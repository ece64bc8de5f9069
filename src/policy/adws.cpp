#include "policy/parts/almost_deterministic_stealing.hpp"
#include "policy/seam/registry.hpp"

/// Almost deterministic work stealing on one level: almost_deterministic_stealing.hpp, with the workers as
/// members.
///
///   S. Shiina: Almost deterministic work stealing. Master's thesis, University of Tokyo, 2021. Chapter 4.
namespace weft::policies {
namespace {

constexpr knob adws_knobs[] = {
    {"steal", "on", "on, off", "off: the map from tasks to workers follows from the hints alone"},
    {"hints", "given", "given, learned", "learned: what a task took the last time comes before its hint"},
    zone_knob(),
};

} // namespace

extern constinit const policy_entry adws_entry{
    .name = "adws",
    .summary = "almost deterministic work stealing: workers by work, steals in ranges that grow",
    .source = "Shiina, master's thesis, University of Tokyo 2021, chapter 4",
    .wants = "the work of each child and of the group; data-parallel programs without it do well, too",
    .helps = "programs that come back to the same data again and again, on machines with several caches",
    .knobs = adws_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<almost_deterministic_stealing>(
            almost_deterministic_options{.steal = values.flag("steal"),
                                         .learned = values.is("hints", "learned"),
                                         .lazy = values.is("zone", "lazy")});
    },
};

} // namespace weft::policies
