#include <weft/programs.hpp>

#include "api/model_engine_of.hpp"
#include "engine/model/model_engine.hpp"
#include "engine/model/program_placer.hpp"
#include "engine/model/simulation.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>

namespace weft {

namespace {

using engine::model_engine;
using engine::simulation;

std::vector<model_engine*> engines_of(const std::vector<together_program>& programs) {
    if (programs.empty()) throw error("no program to run", "0 programs", "1 or more");
    std::vector<model_engine*> all;
    for (std::size_t i = 0; i < programs.size(); ++i) {
        model_engine* const e = programs[i].on ? api::model_engine_of(*programs[i].on) : nullptr;
        const std::string given = fmt::format("program {}", i);
        if (!e)
            throw error("only programs on a modelled machine run beside each other", given,
                        "a runtime of the engine 'model'");
        if (!all.empty() && e->sim != all.front()->sim)
            throw error("two programs are on different machines", given + " and program 0",
                        "runtimes made with runtime_options::beside");
        if (std::ranges::find(all, e) != all.end())
            throw error("two programs have one runtime", given, "a runtime for each program");
        if (!programs[i].run) throw error("a program has no function", given, "a function to call");
        all.push_back(e);
    }
    if (all.size() != all.front()->sim->engines.size())
        throw error("a runtime on the machine has no program", fmt::format("{} programs", all.size()),
                    fmt::format("one for each of the {} runtimes", all.front()->sim->engines.size()));
    return all;
}

engine::placing_options placing(const together_options& o) {
    if (o.repeats < 1) throw error("a number of repeats", std::to_string(o.repeats), "1 or more");
    engine::placing_options p{.scheduler = share::scheduler_of(o.scheduler),
                              .period = o.period.count(),
                              .counter_period = o.counter_period.count(),
                              .weight = o.rate_weight,
                              .idle_below = o.idle_below,
                              .fixed = o.domains,
                              .most_cores = o.most_cores,
                              .lends = o.lends,
                              .hysteresis = o.hysteresis.count()};
    for (const double r : o.rates) {
        if (!(r >= 0 && r <= static_cast<double>(share::most_rate)))
            throw error("a rate is out of range", fmt::format("{}", r),
                        fmt::format("0..{}", share::most_rate));
        p.rates.push_back(std::llround(r));
    }
    return p;
}

/// The programs while they run. All calls come from the simulation's thread.
class running_programs {
public:
    running_programs(const std::vector<together_program>& programs, const std::vector<model_engine*>& engines,
                     simulation& on, int repeats)
        : programs_(programs)
        , engines_(engines)
        , on_(on)
        , repeats_(static_cast<std::size_t>(repeats))
        , unfinished_(programs.size())
        , seconds(programs.size()) {}

    /// The whole life of a program.
    void drive(std::size_t i) {
        do {
            const auto began = on_.now();
            const std::vector<bool> waited = waits_for_ever();
            try {
                programs_[i].run();
                if (on_.now() == began) // it would run for ever beside the others
                    throw error(
                        "a run of a program takes no virtual time", fmt::format("program {}", i),
                        "a program that declares what it costs (weft::cost) or touches (weft::touch)");
            } catch (...) {
                if (!failure) failure = std::current_exception();
                if (seconds[i].size() < repeats_) --unfinished_;
                return;
            }
            if (unfinished_ == 0) return; // the others have ended meanwhile
            seconds[i].push_back(static_cast<double>(on_.now() - began) * 1e-9);
            if (seconds[i].size() == repeats_) --unfinished_;
            // A program that will never end must not keep the others running: with nothing left to happen the simulation
            // reports what waits for what.
            if (seconds[i].size() > repeats_) is_stuck_ |= both(waited, waits_for_ever());
        } while (unfinished_ > 0 && !is_stuck_);
    }

private:
    /// Of each program.
    std::vector<bool> waits_for_ever() const {
        std::vector<bool> all;
        for (const model_engine* const e : engines_) all.push_back(e->waits_for_ever());
        return all;
    }
    /// Whether there is a program that did before a whole run of another one, and does now.
    static bool both(const std::vector<bool>& before, const std::vector<bool>& now) {
        for (std::size_t i = 0; i < now.size(); ++i)
            if (before[i] && now[i]) return true;
        return false;
    }

    const std::vector<together_program>& programs_;
    const std::vector<model_engine*>& engines_;
    const simulation& on_;
    const std::size_t repeats_;
    std::size_t unfinished_; ///< that have not run often enough
    bool is_stuck_ = false;

public:
    std::vector<std::vector<double>> seconds;
    std::exception_ptr failure{};
};

std::uint64_t loads_of(const model_engine& e) {
    std::uint64_t sum = 0;
    for (const auto& w : e.all_workers) sum += w->loads;
    return sum;
}

} // namespace

together_stats run_together(const std::vector<together_program>& programs, const together_options& o) {
    const std::vector<model_engine*> all = engines_of(programs);
    engine::placing_options how = placing(o);
    simulation& on = *all.front()->sim;
    running_programs running(programs, all, on, o.repeats);
    std::optional<engine::program_placer> placer;
    std::vector<std::uint64_t> loads;
    on.when_quiet([&] {
        if (!on.cores) on.cores.emplace(on);
        placer.emplace(on, std::move(how));
        for (const model_engine* const e : all) loads.push_back(loads_of(*e));
        on.awaited_submissions = all.size();
    });
    const auto began = on.now();
    std::vector<std::thread> callers;
    for (std::size_t i = 0; i < programs.size(); ++i)
        callers.emplace_back([&, i] { programs[i].on->run([&] { running.drive(i); }); });
    for (std::thread& c : callers) c.join();

    together_stats out;
    on.when_quiet([&] {
        const double seconds = static_cast<double>(on.now() - began) * 1e-9;
        for (std::size_t i = 0; i < all.size(); ++i)
            out.rates.push_back(seconds > 0 ? static_cast<double>(loads_of(*all[i]) - loads[i]) / seconds
                                            : 0);
        out.moves = placer->moves();
        out.domains = placer->domains();
        placer.reset();
    });
    if (running.failure) std::rethrow_exception(running.failure);
    out.seconds = std::move(running.seconds);
    return out;
}

} // namespace weft
