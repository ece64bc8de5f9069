#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The plain data that a machine is made of. Nothing here is checked; `machine` (machine.hpp) checks all of
// it. Bandwidths are in GB/s (10^9 bytes a second), sizes in bytes, times in nanoseconds. Where a figure may
// be unknown it is an empty optional or, for counts and sizes, 0. Every member has an initializer, so that
// designated initializers of a few of them draw no warning.
namespace weft {

// Half-open range of ranks [first, last).
struct rank_range {
    int first = 0;
    int last = 0;

    int size() const { return last - first; }
    bool contains(int rank) const { return first <= rank && rank < last; }
    bool contains(rank_range other) const { return first <= other.first && other.last <= last; }
    bool operator==(const rank_range&) const = default;
};

enum class work_kind { general, compute, memory };

// Speeds are relative and the same for all classes of one machine; the fastest class is 1.0 by convention,
// but any positive reference will do.
struct core_class {
    std::string name = "core";
    double speed = 1.0;
    std::optional<double> compute_speed{}; // `speed` where absent
    std::optional<double> memory_speed{};  // `speed` where absent
    double frequency_mhz = 0;              // 0: unknown
    std::vector<double>
        frequencies_mhz{}; // what the core can be set to, fastest first; empty: unknown or fixed

    double speed_of(work_kind kind) const {
        if (kind == work_kind::compute) return compute_speed.value_or(speed);
        if (kind == work_kind::memory) return memory_speed.value_or(speed);
        return speed;
    }
};

// A place for one worker: a hardware thread. Its index in the list is its rank.
struct core {
    int os_index = -1;     // what the operating system calls it; -1 on a modelled machine
    int core_class = 0;    // index into core_classes
    int physical_core = 0; // equal for the hyperthreads of one core; numbered 0, 1, ... in rank order
    int smt = 0;           // index among the hyperthreads of the core
    int package = 0;
    int domain = 0;      // last-level-cache domain
    int memory_node = 0; // the nearest one; where several are equally near, the one allocated from by default
};

// Which block a full cache gives up.
enum class replacement {
    lru,   // the one that was not used for longest
    random // any, with the same chance
};

struct cache {
    int level = 1;
    std::int64_t bytes = 0;
    int line_bytes = 64;
    int ways = 0; // 0: unknown
    rank_range shared_by{};
    std::optional<double> latency_ns{};
    std::optional<double> bandwidth_gbps{};        // of each core
    std::optional<double> shared_bandwidth_gbps{}; // of all cores together
    bool inclusive = false;                        // holds all that the caches above it hold
    replacement replaces = replacement::lru; // in a model; random is near what hashed and sampled ones do
};

struct memory_node {
    std::string kind = "dram"; // free text: dram, hbm, ...
    int os_index = -1;
    std::int64_t bytes = 0;
    std::optional<double> bandwidth_gbps{};
    std::optional<double> latency_ns{}; // of a local load that misses every cache
    rank_range ranks{}; // the cores that name it as theirs; empty for a node that is only memory
};

struct device {
    std::string name{};
    std::string kind = "gpu"; // free text: gpu, fpga, ...
    int count = 1;            // that many alike
    std::int64_t memory_bytes = 0;
    int compute_units = 0;                       // e.g. streaming multiprocessors; 0: unknown
    double speed = 1.0;                          // of the whole device, relative to a core of speed 1.0
    std::optional<double> bandwidth_gbps{};      // of its own memory
    std::optional<double> link_bandwidth_gbps{}; // between it and the host's memory
    std::optional<double> link_latency_ns{};
    std::optional<double> launch_latency_ns{}; // of an empty kernel
    int memory_node = -1;                      // the nearest one of the host; -1: unknown or none
};

struct disk {
    std::string name{};
    double bandwidth_gbps = 0;          // of all transfers together
    std::optional<double> latency_ns{}; // of each
};

// Nodes of a cluster that are alike.
struct cluster_node_class {
    std::string name = "node";
    int count = 1;
    int slots = 1;      // tasks that one node runs at a time
    double speed = 1.0; // relative, of one slot
};

// The network around machines; each node is either this machine or one of the classes.
struct cluster {
    int nodes = 1;
    int racks = 1;
    double network_latency_ns = 0;
    double network_bandwidth_gbps = 0;           // of one node's link
    std::optional<double> rack_bandwidth_gbps{}; // of the link that leaves a rack
    std::vector<cluster_node_class>
        classes{}; // empty: all nodes are this machine; otherwise counts add up to `nodes`
};

// What the runtime's own work takes on a core of speed 1, where a machine is modelled: in nanoseconds. The
// defaults were measured on the machine of machines/epyc-zen4-2.toml; that of `stack` is that it takes no time.
struct runtime_charges {
    double fork = 1.5;        // a join of which no thief takes a part
    double spawn = 24;        // a child of a group, or a spawn that the policy sees
    double start = 58;        // of a task, on the worker that has it
    double suspend = 56;      // of a task that waits, and its resumption
    double stack = 0;         // of a task that begins on a new stack, since all others are in use
    double wait = 4.6;        // at the end of a group
    double look = 9;          // at a worker's own place
    double look_away = 100;   // at another's place, where the machine does not say the time of a steal
    double lock = 6;          // of a place that all share
    double wake = 9'000;      // of the worker that wakes a sleeper
    double woken = 28'000;    // until the sleeper runs
    double exposure = 50'000; // from an ask that no fork of the asked worker meets to its interruption
    double signal = 15'000;   // from its interruption to the answer
};

// The charges by their keys in a machine file.
struct charge_key {
    const char* key;
    double runtime_charges::* charge;
};
inline constexpr charge_key charge_keys[] = {
    {"fork_ns", &runtime_charges::fork},     {"spawn_ns", &runtime_charges::spawn},
    {"start_ns", &runtime_charges::start},   {"suspend_ns", &runtime_charges::suspend},
    {"stack_ns", &runtime_charges::stack},   {"wait_ns", &runtime_charges::wait},
    {"look_ns", &runtime_charges::look},     {"look_away_ns", &runtime_charges::look_away},
    {"lock_ns", &runtime_charges::lock},     {"wake_ns", &runtime_charges::wake},
    {"woken_ns", &runtime_charges::woken},   {"exposure_ns", &runtime_charges::exposure},
    {"signal_ns", &runtime_charges::signal},
};

// What the preemption of tasks takes on a modelled machine, on a core of speed 1: in nanoseconds. Nothing is taken where the
// machine's description does not say it.
struct preemption_charges {
    double interrupt = 0;  // of a worker by its timer: the signal, its handler, and the way back
    double contention = 0; // more for each other worker whose own timer fires at the same time
    double one_to_all = 0; // more for each other worker that is sent the same tick by the one with the timer
    double forward = 0;    // more for a worker that sends the tick on, to the next of its chain
    double yield = 0;      // more if the task yields; the runtime's own charges come besides, here and below
    double klt = 0; // more if its kernel thread stops: on a futex, with pools of threads for each worker
    double klt_futex = 0;      // the same with one pool of threads for all workers
    double klt_sigsuspend = 0; // the same, stopped in sigsuspend()
};

// These by their keys in a machine file.
struct preemption_key {
    const char* key;
    double preemption_charges::* charge;
};
inline constexpr preemption_key preemption_keys[] = {
    {"interrupt_ns", &preemption_charges::interrupt},
    {"contention_ns", &preemption_charges::contention},
    {"one_to_all_ns", &preemption_charges::one_to_all},
    {"forward_ns", &preemption_charges::forward},
    {"yield_ns", &preemption_charges::yield},
    {"klt_ns", &preemption_charges::klt},
    {"klt_futex_ns", &preemption_charges::klt_futex},
    {"klt_sigsuspend_ns", &preemption_charges::klt_sigsuspend},
};

// How the operating system of a modelled machine shares a core among the workers of several programs, in nanoseconds. The
// defaults are those of Linux 2.6.38 to 6.5 with eight processors or more (kernel/sched/fair.c: 6, 0.75 and 1 ms, each times
// 1 + log2(8)), and a usual switch.
struct time_sharing {
    double latency = 24e6;    // in which each of a few workers runs once
    double least_slice = 3e6; // of a worker, if there are more of them
    double wakes_before =
        4e6;                 // a worker that wakes up takes the core from one that has had so much more time
    double switch_ns = 2000; // from one worker to another one
};

// These by their keys in a machine file.
struct time_sharing_key {
    const char* key;
    double time_sharing::* value;
};
inline constexpr time_sharing_key time_sharing_keys[] = {
    {"latency_ns", &time_sharing::latency},
    {"least_slice_ns", &time_sharing::least_slice},
    {"wakes_before_ns", &time_sharing::wakes_before},
    {"switch_ns", &time_sharing::switch_ns},
};

inline constexpr double default_exchange_ns = 5000;

// How a model of this machine counts.
struct model_settings {
    std::int64_t block_bytes = 4096; // the unit that caches track; its touched cache lines move
    double loads_in_flight = 10; // cache lines that a core waits for at a time, where no bandwidth is given
    double host_speed = 1;       // of the core that runs the model, in the same unit as core_class::speed
    double work_per_cycle = 1;   // of the fastest core class, where 1 is the core that costs were measured on
    std::optional<double> vector_work_per_cycle{}; // of work::vector; `work_per_cycle` where absent
    double overlap = 0; // part of the computing that passes while its data come, 0 to 1
};

// Where a figure comes from.
enum class figure_source {
    file,       // the machine's description
    calibrated, // measured on this machine
    typical,    // usual for machines of today: docs/modelled-machines.md has the table
    none        // nowhere: it costs nothing in a model
};

// A figure that the machine's description does not have. Its name is that of the key in a machine file.
struct default_figure {
    std::string name{};
    figure_source source = figure_source::typical;
};

// Square matrices are row-major; an empty one says that nothing is known.
struct machine_parts {
    std::string name = "machine";
    std::string description{};
    std::vector<core>
        cores{}; // in rank order: domains, packages, physical cores are each adjacent and ascending
    std::vector<core_class> core_classes{};
    std::vector<cache> caches{}; // ascending by level, then by first rank; data and unified caches only
    std::vector<memory_node> memory_nodes{};
    std::vector<double> node_distances{};      // as in ACPI's SLIT: 10 on the diagonal, 10 or more elsewhere
    std::vector<double> node_latency_ns{};     // [from the cores of][to the memory of]
    std::vector<double> node_bandwidth_gbps{}; // the same; of a link of their own, where no route joins them
    // The ways of data between nodes that no link joins: from the node of the memory over others to the node
    // of the core.
    std::vector<std::vector<int>> node_routes{};
    // What a cache line adds to each direction of each link on its way, besides the line itself: the request,
    // the probes of other caches, the answers, headers.
    double line_overhead_bytes = 0;
    std::vector<double>
        steal_latency_ns{};            // between domains; the diagonal is between two cores of one domain
    std::optional<double> link_gbps{}; // of each link between two packages, where these are far apart
    std::int64_t message_bytes = 0;    // of a message between workers over such a link, beside its data
    // What it costs each of two workers when they change cores. The default is an assumption, of the order of a wake-up on
    // another core and a context switch; bench/exchange measures it where threads have cores to themselves.
    double exchange_ns = default_exchange_ns;
    std::vector<device> devices{};
    std::vector<disk> disks{};
    std::optional<weft::cluster> cluster_of{};
    std::optional<double>
        cpu_quota{}; // in cores, of this process on this machine; absent where there is no limit
    runtime_charges charges{};
    preemption_charges preemption{};
    weft::time_sharing time_sharing{};
    model_settings model{};
    bool absent_is_free = false; // in a model, a latency or bandwidth that is absent; else it has a default
    std::vector<default_figure> defaults{}; // all figures that do not come from the description
    std::string calibrated_on{};            // the day of the calibration, as 2026-01-31; empty: there is none
};

} // namespace weft
