#include "policy/parts/loop_pieces.hpp"
#include "policy/seam/registry.hpp"

/// Loops are dealt out to the workers before they begin, and stay there: `schedule(static)`.
///
///   OpenMP Application Programming Interface 5.2, 11.5.3; a baseline for regular loops in S. Shiina's thesis
///   (U. Tokyo 2021, 4.4.1).
///
/// The grain of the loop is OpenMP's chunk. A loop without a grain has `pieces` pieces for each worker. Piece
/// i goes to worker i modulo the number of workers and is never stolen, so a loop that runs again finds its
/// data where it left them.
namespace weft::policies {
namespace {

constexpr knob static_knobs[] = {
    {"pieces", "1", "1..10000", "pieces of a loop for each worker, dealt out in turn"},
    loop_pieces::outermost_knob,
};

} // namespace

extern constinit const policy_entry static_entry{
    .name = "static",
    .summary = "loops dealt out to the workers beforehand; other tasks stolen at random",
    .source = "OpenMP 5.2, schedule(static)",
    .helps = "loops whose iterations all take equally long, above all if they run again and again",
    .knobs = static_knobs,
    .make = [](const knob_values& values) -> std::unique_ptr<policy> {
        return std::make_unique<loop_pieces>(
            loop_pieces::dealt::in_turn, static_cast<int>(values.integer("pieces")),
            values.is("outermost", "first") ? loop_pieces::outermost::on_the_first
                                            : loop_pieces::outermost::anywhere);
    },
};

} // namespace weft::policies
