#include "policy/parts/critical_sections.hpp"
#include "policy/seam/registry.hpp"

#include <cstdint>
#include <memory>

/// ACS: every critical section runs on a fast core.
///
///   M. A. Suleman, O. Mutlu, M. K. Qureshi, Y. N. Patt: Accelerating critical section execution with asymmetric multi-core
///   architectures. ASPLOS 2009, as in Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer
///   2017, 5.3.6.
///
/// The book names it as a mechanism of the hardware. Here a critical section takes the time that it takes on a fast core,
/// and the exchange of cores there and back: a model for simulators.
namespace weft::policies {
namespace {

class acs final : public critical_sections {
    bool is_critical(std::uint32_t) override { return true; }
};

} // namespace

extern constinit const policy_entry acs_entry{
    .name = "acs",
    .summary = "critical sections change to fast cores (modelled machines only)",
    .source = "Suleman et al. 2009, as in Chen & Guo 2017, 5.3.6",
    .helps = "unequal cores, and programs whose tasks wait for each other's locks; in the model",
    .knobs = {},
    .make = [](const knob_values&) -> std::unique_ptr<policy> { return std::make_unique<acs>(); },
    .modelled_only = true,
};

} // namespace weft::policies
