#include "policy/parts/loop_pieces.hpp"
#include "policy/seam/registry.hpp"

/// The pieces of loops lie in one queue, from which the workers take them in order: `schedule(dynamic)`.
///
///   OpenMP Application Programming Interface 5.2, 11.5.3.
///
/// The grain of the loop is OpenMP's chunk. A loop without a grain has `pieces` pieces for each worker.
namespace weft::policies {
namespace {

constexpr knob dynamic_knobs[] = {
    {"pieces", "16", "1..10000", "pieces of a loop for each worker"},
    loop_pieces::outermost_knob,
};

} // namespace

extern constinit const policy_entry dynamic_entry{
    .name = "dynamic",
    .summary = "the pieces of loops from one queue; other tasks stolen at random",
    .source = "OpenMP 5.2, schedule(dynamic)",
    .helps = "loops whose iterations take unequally long",
    .knobs = dynamic_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<loop_pieces>(
            loop_pieces::dealt::on_demand, static_cast<int>(values.integer("pieces")),
            values.is("outermost", "first") ? loop_pieces::outermost::on_the_first
                                            : loop_pieces::outermost::anywhere);
    },
};

} // namespace weft::policies
