// The course of a simulation with analysis of its data, as LAMMPS goes through it with many threads on one node of a cluster:
//
//   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. 2021, section 3.3.4, and its artifact.
//
// A step integrates in a parallel region; exchanges the atoms at the borders, where the main task is alone and starts short
// regions that pack them; computes the forces in a long region; and integrates again. At some steps the main task waits for
// the analysis and sorts the atoms anew, mostly alone. At others it copies the positions, and low-priority tasks analyse the
// copy while the simulation goes on.
//
// How long each part takes is given; lennard_jones really simulates.
#pragma once

#include <weft/weft.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace examples {

// In units of work: of each task of a region, or of the main task where it is alone. The default is what the artifact's raw
// results have for 5.5e7 atoms on 4 nodes, in 0.1 ms.
struct parts_of_step {
    std::uint64_t integrate = 88, exchange = 778, pack = 1, force = 2735, sort_alone = 10650, sort = 3280,
                  copy_alone = 282, copy = 222, analyse = 1448;
};

struct course_settings {
    parts_of_step parts{};
    std::size_t steps = 20;
    std::size_t every = 2;                           // steps from one analysis to the next; 0: there is none
    std::size_t sort_every = 20;                     // steps; 0: never
    std::size_t packs = 10;                          // regions of an exchange
    std::size_t regions = 2;                         // tasks of a region
    std::size_t analyses = 1;                        // tasks of an analysis
    bool waits = false;                              // for each analysis, before it goes on
    weft::preemption type = weft::preemption::yield; // of the tasks of an analysis
    weft::preemption type_of_region = weft::preemption::off;
};

// Work(n) does n units of work, and may not allocate or lock: it may yield. Counts the units done.
template <class Work>
class in_situ_course {
public:
    in_situ_course(const course_settings& s, const Work& work) : settings_(s), work_(work) {}

    // In a task.
    void run() {
        const auto& [parts, steps, every, sort_every, packs, regions, analyses, waits, type, type_of_region] =
            settings_;
        weft::task_group analysing;
        for (std::size_t step = 0; step < steps; ++step) {
            region(parts.integrate);
            if (sort_every != 0 && (step + 1) % sort_every == 0) {
                analysing.wait();
                alone(parts.sort_alone);
                region(parts.sort);
            } else {
                exchange();
            }
            if (every != 0 && step % every == 0) {
                analysing.wait();
                alone(parts.copy_alone);
                region(parts.copy);
                for (std::size_t i = 0; i < analyses; ++i)
                    analysing.run([this] { do_work(settings_.parts.analyse); },
                                  {.name = "analysis", .priority = -1, .preempt = type});
                if (waits) analysing.wait();
            }
            region(parts.force);
            region(parts.integrate);
        }
        analysing.wait();
    }

    std::uint64_t done() const { return done_.load(); }
    // What a run must have done.
    std::uint64_t expected() const {
        const auto& p = settings_.parts;
        const std::uint64_t regions = settings_.regions, steps = settings_.steps;
        const std::uint64_t sorts = settings_.sort_every == 0 ? 0 : steps / settings_.sort_every;
        const std::uint64_t taken =
            settings_.every == 0 ? 0 : (steps + settings_.every - 1) / settings_.every; // analyses
        const std::uint64_t exchanges = steps - sorts;
        return steps * regions * (2 * p.integrate + p.force) + sorts * (p.sort_alone + regions * p.sort) +
               exchanges * (piece() * settings_.packs + regions * p.pack * settings_.packs) +
               taken * (p.copy_alone + regions * p.copy + settings_.analyses * p.analyse);
    }

private:
    std::uint64_t piece() const {
        return settings_.packs == 0 ? 0 : settings_.parts.exchange / settings_.packs;
    }
    void exchange() {
        for (std::size_t i = 0; i < settings_.packs; ++i) {
            alone(piece());
            region(settings_.parts.pack);
        }
    }
    void alone(std::uint64_t units) { do_work(units); }
    void region(std::uint64_t units) {
        weft::task_group all;
        for (std::size_t i = 0; i < settings_.regions; ++i)
            all.run([this, units] { do_work(units); },
                    {.name = "simulation", .priority = 1, .preempt = settings_.type_of_region});
        all.wait();
    }
    void do_work(std::uint64_t units) {
        work_(units);
        done_.fetch_add(units, std::memory_order_relaxed);
    }

    const course_settings settings_;
    const Work& work_;
    std::atomic<std::uint64_t> done_{0};
};

} // namespace examples
