#include "calibrate/model_machine.hpp"

#include "calibrate/calibration.hpp"
#include "calibrate/charges.hpp"
#include "calibrate/hardware.hpp"
#include "machine/load.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace weft {

namespace {

/// As the file has it: four digits.
double rounded(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

figure_values measure(const machine& here) {
    figure_values all;
    std::exception_ptr failure;
    // In a thread of its own: the caller may be a task, or have its affinity mask for a reason.
    std::thread([&] {
        try {
            all.merge(calibrate::measure_hardware(here));
            all.merge(calibrate::measure_system(here));
            all.merge(calibrate::measure_charges());
        } catch (...) { failure = std::current_exception(); }
    }).join();
    if (failure) std::rethrow_exception(failure);
    for (auto& [name, value] : all) value = rounded(value);
    return all;
}

calibration measure_and_keep(const machine& here, calibration of, const std::filesystem::path& file) {
    std::fprintf(stderr, "weft: measuring this machine for its model, about three seconds ...\n");
    of.values = measure(here);
    const std::string failure =
        file.empty() ? "neither XDG_CACHE_HOME nor HOME is a directory" : write_calibration(file, of);
    if (failure.empty())
        std::fprintf(stderr, "weft: measured; kept in %s\n", file.c_str());
    else
        std::fprintf(stderr,
                     "weft: what was measured cannot be kept (%s%s%s), so another process will measure "
                     "again and get other times\n",
                     file.c_str(), file.empty() ? "" : ": ", failure.c_str());
    return of;
}

std::optional<calibration> calibration_of(const machine& here, calibrates how) {
    static std::mutex one_at_a_time;
    static std::optional<calibration> known; // guarded by the mutex
    const std::lock_guard lock(one_at_a_time);
    if (known && how != calibrates::anew) return known;
    calibration of = identity_of_this_machine(here.description());
    const std::filesystem::path file = calibration_file(of.host);
    if (how != calibrates::anew)
        if (auto kept = read_calibration(file, of)) return known = std::move(kept);
    if (how == calibrates::never) return std::nullopt;
    return known = measure_and_keep(here, std::move(of), file);
}

} // namespace

machine model_machine(std::string_view spec, calibrates how) {
    machine described = load_machine(spec);
    if (is_this_machine(spec))
        if (const auto c = calibration_of(described, how))
            described = with_calibrated_figures(described, c->values, c->day);
    return with_typical_figures(described);
}

} // namespace weft
