#include "policy/parts/almost_deterministic_stealing.hpp"
#include "policy/seam/registry.hpp"

/// Almost deterministic work stealing on several levels: almost_deterministic_stealing.hpp, with the memory
/// groups as members.
///
///   S. Shiina: Almost deterministic work stealing. Master's thesis, University of Tokyo, 2021. Chapter 5.
namespace weft::policies {
namespace {

constexpr knob ml_adws_knobs[] = {
    {"steal", "on", "on, off", "off: the map from tasks to workers follows from the hints alone"},
    {"hints", "given", "given, learned", "learned: what a task took the last time comes before its hint"},
    zone_knob(),
};

} // namespace

extern constinit const policy_entry ml_adws_entry{
    .name = "ml-adws",
    .summary = "almost deterministic work stealing, one cache after the other where the data do not fit",
    .source = "Shiina, master's thesis, University of Tokyo 2021, chapter 5",
    .wants = "the bytes that a group touches; work as for adws",
    .helps = "data larger than the last-level caches, used again and again in each part",
    .knobs = ml_adws_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<almost_deterministic_stealing>(
            almost_deterministic_options{.steal = values.flag("steal"),
                                         .learned = values.is("hints", "learned"),
                                         .lazy = values.is("zone", "lazy"),
                                         .multi_level = true});
    },
};

} // namespace weft::policies
