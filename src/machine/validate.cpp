#include "machine/bounds.hpp"
#include "machine/machine.hpp"

#include <weft/error.hpp>

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weft {

namespace {

class checker {
public:
    explicit checker(const machine_parts& parts) : parts_(parts) {}

    void all() const {
        if (parts_.cores.empty()) fail("it has no cores", "0", "at least 1");
        if (parts_.core_classes.empty()) fail("it has no core classes", "0", "at least 1");
        if (parts_.memory_nodes.empty()) fail("it has no memory nodes", "0", "at least 1");
        at_most(most_ranks, "too many ranks", parts_.cores.size());
        at_most(most_nodes, "too many memory nodes", parts_.memory_nodes.size());
        classes();
        cores();
        nodes();
        caches();
        matrices();
        routes();
        devices();
        disks();
        cluster();
        model();
        if (parts_.cpu_quota && !(std::isfinite(*parts_.cpu_quota) && *parts_.cpu_quota > 0))
            fail("the cpu quota", fmt::format("{}", *parts_.cpu_quota), "a finite number above 0");
    }

private:
    [[noreturn]] void fail(const std::string& what, const std::string& given,
                           const std::string& allowed) const {
        throw error(fmt::format("machine '{}': {}", parts_.name, what), given, allowed);
    }

    void within(const number_range& range, const std::string& what, double value) const {
        if (!range.contains(value))
            fail(what, fmt::format("{}", value), fmt::format("{} to {}", range.least, range.most));
    }

    void within(const number_range& range, const std::string& what,
                const std::optional<double>& value) const {
        if (value) within(range, what, *value);
    }

    void at_most(int most, const std::string& what, std::size_t count) const {
        if (count > static_cast<std::size_t>(most))
            fail(what, fmt::format("{}", count), fmt::format("at most {}", most));
    }

    void in_range(const std::string& what, int value, std::size_t count) const {
        if (value < 0 || static_cast<std::size_t>(value) >= count) {
            fail(what, fmt::format("{}", value), fmt::format("0 to {}", count - 1));
        }
    }

    void classes() const {
        std::set<std::string> names;
        for (const core_class& c : parts_.core_classes) {
            const std::string subject = fmt::format("core class '{}': ", c.name);
            if (c.name.empty()) fail("a core class has no name", "''", "a name");
            if (!names.insert(c.name).second)
                fail("two core classes have one name", c.name, "a name for each");
            within(any_speed, subject + "speed", c.speed);
            within(any_speed, subject + "compute_speed", c.compute_speed);
            within(any_speed, subject + "memory_speed", c.memory_speed);
            if (c.frequency_mhz < 0 || c.frequency_mhz > 0) // 0: unknown
                within(any_mhz, subject + "frequency_mhz", c.frequency_mhz);
            double above = INFINITY;
            for (const double mhz : c.frequencies_mhz) {
                within(any_mhz, subject + "frequencies_mhz", mhz);
                if (mhz >= above)
                    fail(subject + "frequencies_mhz", fmt::format("{}", mhz), "fastest first, no two alike");
                above = mhz;
            }
        }
    }

    // A number that labels adjacent ranks must start at 0 and then either stay or grow by one.
    void ascending(const char* label, int rank, int before, int now) const {
        const bool right = rank == 0 ? now == 0 : now == before || now == before + 1;
        if (right) return;
        fail(fmt::format("rank {}: {} not adjacent", rank, label), fmt::format("{}", now),
             rank == 0 ? "0" : fmt::format("{} or {}", before, before + 1));
    }

    void cores() const {
        core before;
        std::set<int> os_indices;
        const bool modelled = parts_.cores.front().os_index < 0;
        for (int rank = 0; rank < static_cast<int>(parts_.cores.size()); ++rank) {
            const core& c = parts_.cores[static_cast<std::size_t>(rank)];
            const std::string subject = fmt::format("rank {}: ", rank);
            in_range(subject + "core class", c.core_class, parts_.core_classes.size());
            in_range(subject + "memory node", c.memory_node, parts_.memory_nodes.size());
            ascending("package", rank, before.package, c.package);
            ascending("domain", rank, before.domain, c.domain);
            ascending("physical core", rank, before.physical_core, c.physical_core);
            const bool same_core = rank > 0 && c.physical_core == before.physical_core;
            if (rank > 0 && c.package != before.package && c.domain == before.domain) {
                fail(subject + "its domain lies in two packages", fmt::format("domain {}", c.domain),
                     "one package a domain");
            }
            if (same_core && (c.domain != before.domain || c.core_class != before.core_class)) {
                fail(subject + "hyperthreads of one core differ",
                     fmt::format("domain {}, class {}", c.domain, c.core_class),
                     fmt::format("domain {}, class {}", before.domain, before.core_class));
            }
            if (c.smt != (same_core ? before.smt + 1 : 0)) {
                fail(subject + "smt index", fmt::format("{}", c.smt),
                     fmt::format("{}", same_core ? before.smt + 1 : 0));
            }
            if (c.os_index < -1 || (c.os_index < 0) != modelled) {
                fail(subject + "os index", fmt::format("{}", c.os_index),
                     "-1 for all ranks, or 0 and above for all");
            }
            if (!modelled && !os_indices.insert(c.os_index).second) {
                fail(subject + "two ranks have one os index", fmt::format("{}", c.os_index),
                     "each only once");
            }
            before = c;
        }
    }

    void nodes() const {
        long long listed = 0;
        for (std::size_t n = 0; n < parts_.memory_nodes.size(); ++n) {
            const memory_node& node = parts_.memory_nodes[n];
            const std::string subject = fmt::format("memory node {}: ", n);
            if (node.bytes < 0)
                fail(subject + "bytes", fmt::format("{}", node.bytes), "0 (unknown) or above");
            within(any_gbps, subject + "bandwidth_gbps", node.bandwidth_gbps);
            within(any_load_ns, subject + "latency_ns", node.latency_ns);
            if (node.ranks.size() < 0 ||
                !rank_range{0, static_cast<int>(parts_.cores.size())}.contains(node.ranks)) {
                fail(subject + "its ranks", fmt::format("[{}, {})", node.ranks.first, node.ranks.last),
                     "ranges of ranks");
            }
            listed += node.ranks.size();
        }
        // Each rank lies in the range of its node, and the ranges have no more ranks than there are: they
        // match.
        for (int rank = 0; rank < static_cast<int>(parts_.cores.size()); ++rank) {
            const int n = parts_.cores[static_cast<std::size_t>(rank)].memory_node;
            const rank_range ranks = parts_.memory_nodes[static_cast<std::size_t>(n)].ranks;
            if (ranks.contains(rank) && listed == static_cast<long long>(parts_.cores.size())) continue;
            fail(
                fmt::format("memory node {}: its ranks are not the cores that name it, see rank {}", n, rank),
                fmt::format("[{}, {})", ranks.first, ranks.last),
                "the adjacent ranks of exactly those cores");
        }
    }

    void model() const {
        const runtime_charges& c = parts_.charges;
        for (const double ns : {c.fork, c.spawn, c.start, c.suspend, c.wait, c.look, c.look_away, c.lock,
                                c.wake, c.woken, c.exposure, c.signal})
            within(any_charge_ns, "a charge", ns);
        for (const preemption_key& k : preemption_keys)
            within(any_charge_ns, k.key, parts_.preemption.*k.charge);
        for (const time_sharing_key& k : time_sharing_keys)
            within(any_charge_ns, k.key, parts_.time_sharing.*k.value);
        within(any_charge_ns, "exchange_ns", parts_.exchange_ns);
        if (parts_.model.block_bytes < 1 || parts_.model.block_bytes > most_block_bytes)
            fail("block_bytes", fmt::format("{}", parts_.model.block_bytes),
                 fmt::format("1 to {}", most_block_bytes));
        within(any_loads, "loads_in_flight", parts_.model.loads_in_flight);
        within(any_speed, "host_speed", parts_.model.host_speed);
        within(any_speed, "work_per_cycle", parts_.model.work_per_cycle);
        within(any_speed, "vector_work_per_cycle", parts_.model.vector_work_per_cycle);
        within(any_part, "overlap", parts_.model.overlap);
    }

    void caches() const {
        const cache* before = nullptr;
        std::vector<rank_range> outermost(parts_.cores.size());
        for (const cache& c : parts_.caches) {
            const std::string subject =
                fmt::format("L{} cache of ranks [{}, {}): ", c.level, c.shared_by.first, c.shared_by.last);
            const int ranks = static_cast<int>(parts_.cores.size());
            if (c.level < 1 || c.level > 9) fail(subject + "level", fmt::format("{}", c.level), "1 to 9");
            if (c.bytes <= 0) fail(subject + "bytes", fmt::format("{}", c.bytes), "above 0");
            if (c.line_bytes <= 0) fail(subject + "line_bytes", fmt::format("{}", c.line_bytes), "above 0");
            if (c.ways < 0) fail(subject + "ways", fmt::format("{}", c.ways), "0 (unknown) or above");
            within(any_latency_ns, subject + "latency_ns", c.latency_ns);
            within(any_gbps, subject + "bandwidth_gbps", c.bandwidth_gbps);
            within(any_gbps, subject + "shared_bandwidth_gbps", c.shared_bandwidth_gbps);
            if (c.shared_by.size() < 1 || !rank_range{0, ranks}.contains(c.shared_by)) {
                fail(subject + "ranks", fmt::format("[{}, {})", c.shared_by.first, c.shared_by.last),
                     fmt::format("within [0, {})", ranks));
            }
            const core& first = parts_.cores[static_cast<std::size_t>(c.shared_by.first)];
            const core& last = parts_.cores[static_cast<std::size_t>(c.shared_by.last - 1)];
            if (first.domain != last.domain) {
                fail(subject + "it spans domains", fmt::format("{} to {}", first.domain, last.domain),
                     "one domain");
            }
            if (first.smt != 0 || (c.shared_by.last < ranks &&
                                   parts_.cores[static_cast<std::size_t>(c.shared_by.last)].smt != 0)) {
                fail(subject + "it cuts a core in two", "some hyperthreads of the core", "all of them");
            }
            if (before != nullptr && before->level == c.level && c.shared_by.first < before->shared_by.last) {
                fail(subject + "it overlaps, or comes before, the one listed before",
                     fmt::format("first rank {}", c.shared_by.first),
                     fmt::format("{} or above", before->shared_by.last));
            }
            if (before != nullptr && c.level < before->level) {
                fail(subject + "caches are not sorted by level",
                     fmt::format("{} after {}", c.level, before->level), "ascending");
            }
            inner(c, subject, outermost);
            before = &c;
        }
        last_levels(outermost);
    }

    // A cache must hold whole caches of every lower level, so that they form a tree. `outermost` has, for
    // each rank, the cache of the highest level so far; a lower one cannot stick out where that one does not.
    void inner(const cache& outer, const std::string& subject, std::vector<rank_range>& outermost) const {
        for (const int rank : {outer.shared_by.first, outer.shared_by.last - 1}) {
            const rank_range c = outermost[static_cast<std::size_t>(rank)];
            if (c.size() == 0 || outer.shared_by.contains(c)) continue;
            fail(subject + "it cuts a cache of a lower level in two",
                 fmt::format("one of [{}, {})", c.first, c.last), "all of its ranks or none");
        }
        for (int rank = outer.shared_by.first; rank < outer.shared_by.last; ++rank) {
            outermost[static_cast<std::size_t>(rank)] = outer.shared_by;
        }
    }

    // The last cache of a core is its domain's, or private to it; a cache shared by some of the cores only
    // would make the domains mean something else than they say.
    void last_levels(const std::vector<rank_range>& outermost) const {
        const auto core_of = [&](int rank) -> const core& {
            return parts_.cores[static_cast<std::size_t>(rank)];
        };
        const int ranks = static_cast<int>(parts_.cores.size());
        for (int rank = 0; rank < ranks; ++rank) {
            const rank_range last = outermost[static_cast<std::size_t>(rank)];
            if (last.size() == 0 || rank != last.first) continue;
            const int domain = core_of(last.first).domain;
            if (core_of(last.first).physical_core == core_of(last.last - 1).physical_core) continue;
            const bool starts = last.first == 0 || core_of(last.first - 1).domain != domain;
            const bool ends = last.last == ranks || core_of(last.last).domain != domain;
            if (starts && ends) continue;
            fail(fmt::format("the last cache of ranks [{}, {}) is not that of their whole domain {}",
                             last.first, last.last, domain),
                 fmt::format("{} ranks", last.size()), "all cores of the domain, or one core");
        }
    }

    template <class Check>
    void matrix(const char* name, const std::vector<double>& values, std::size_t side, Check check) const {
        if (values.empty()) return;
        if (values.size() != side * side) {
            fail(fmt::format("{}: number of entries", name), fmt::format("{}", values.size()),
                 fmt::format("{} x {} = {}", side, side, side * side));
        }
        for (std::size_t i = 0; i < side; ++i) {
            for (std::size_t j = 0; j < side; ++j)
                check(fmt::format("{}[{}][{}]", name, i, j), i, j, values[i * side + j]);
        }
    }

    void symmetric(const std::string& what, const std::vector<double>& values, std::size_t side,
                   std::size_t i, std::size_t j) const {
        const double here = values[i * side + j];
        const double there = values[j * side + i];
        if (here < there || here > there)
            fail(what + " is not symmetric", fmt::format("{}", here), fmt::format("{}", there));
    }

    void matrices() const {
        const std::size_t nodes = parts_.memory_nodes.size();
        matrix("node_distances", parts_.node_distances, nodes,
               [&](const std::string& what, auto i, auto j, double value) {
                   if (i == j && (value < 10 || value > 10))
                       fail(what, fmt::format("{}", value), "10 on the diagonal");
                   within(any_distance, what, value);
                   symmetric(what, parts_.node_distances, nodes, i, j);
               });
        const auto any = [&](const number_range& range) {
            return [&](const std::string& what, auto, auto, double value) { within(range, what, value); };
        };
        matrix("node_latency_ns", parts_.node_latency_ns, nodes, any(any_load_ns));
        matrix("node_bandwidth_gbps", parts_.node_bandwidth_gbps, nodes, any(any_gbps));
        const std::size_t domains = static_cast<std::size_t>(parts_.cores.back().domain) + 1;
        at_most(most_domains, "too many domains", domains);
        matrix("steal_latency_ns", parts_.steal_latency_ns, domains,
               [&](const std::string& what, auto i, auto j, double value) {
                   within(any_latency_ns, what, value);
                   symmetric(what, parts_.steal_latency_ns, domains, i, j);
               });
        within(any_gbps, "link_gbps", parts_.link_gbps);
        if (parts_.message_bytes < 0)
            fail("message_bytes", fmt::format("{}", parts_.message_bytes), "0 or more");
    }

    // Every step of a route is a link: a pair of nodes without a route.
    void routes() const {
        std::set<std::pair<int, int>> routed;
        for (const std::vector<int>& route : parts_.node_routes) {
            const std::string subject = fmt::format("node_routes: [{}]: ", fmt::join(route, ", "));
            if (route.size() < 3)
                fail(subject + "number of nodes", fmt::format("{}", route.size()), "3 or more");
            for (const int node : route) in_range(subject + "a node", node, parts_.memory_nodes.size());
            if (std::set<int>(route.begin(), route.end()).size() < route.size())
                fail(subject + "a node comes twice", fmt::format("{}", fmt::join(route, ", ")), "each once");
            if (!routed.emplace(route.front(), route.back()).second)
                fail(subject + "two routes join the same nodes",
                     fmt::format("{} and {}", route.front(), route.back()), "one");
        }
        for (const std::vector<int>& route : parts_.node_routes)
            for (std::size_t i = 1; i < route.size(); ++i)
                if (routed.contains({route[i - 1], route[i]}))
                    fail("node_routes: a step of one is another one",
                         fmt::format("{} to {}", route[i - 1], route[i]), "links");
        within(any_line_overhead, "line_overhead_bytes", parts_.line_overhead_bytes);
    }

    void devices() const {
        std::set<std::string> names;
        for (const device& d : parts_.devices) {
            const std::string subject = fmt::format("device '{}': ", d.name);
            if (d.name.empty()) fail("a device has no name", "''", "a name");
            if (!names.insert(d.name).second) fail("two devices have one name", d.name, "a name for each");
            if (d.count < 1) fail(subject + "count", fmt::format("{}", d.count), "at least 1");
            if (d.memory_bytes < 0)
                fail(subject + "memory_bytes", fmt::format("{}", d.memory_bytes), "0 (unknown) or above");
            if (d.compute_units < 0)
                fail(subject + "compute_units", fmt::format("{}", d.compute_units), "0 (unknown) or above");
            within(any_speed, subject + "speed", d.speed);
            within(any_gbps, subject + "bandwidth_gbps", d.bandwidth_gbps);
            within(any_gbps, subject + "link_bandwidth_gbps", d.link_bandwidth_gbps);
            within(any_latency_ns, subject + "link_latency_ns", d.link_latency_ns);
            within(any_latency_ns, subject + "launch_latency_ns", d.launch_latency_ns);
            if (d.memory_node != -1)
                in_range(subject + "memory_node", d.memory_node, parts_.memory_nodes.size());
        }
    }

    void disks() const {
        std::set<std::string> names;
        for (const disk& d : parts_.disks) {
            const std::string subject = fmt::format("disk '{}': ", d.name);
            if (d.name.empty()) fail("a disk has no name", "''", "a name");
            if (!names.insert(d.name).second) fail("two disks have one name", d.name, "a name for each");
            within(any_gbps, subject + "bandwidth_gbps", d.bandwidth_gbps);
            within(any_latency_ns, subject + "latency_ns", d.latency_ns);
        }
    }

    void cluster() const {
        if (!parts_.cluster_of) return;
        const weft::cluster& c = *parts_.cluster_of;
        if (c.nodes < 1) fail("cluster: nodes", fmt::format("{}", c.nodes), "at least 1");
        if (c.racks < 1 || c.racks > c.nodes)
            fail("cluster: racks", fmt::format("{}", c.racks), fmt::format("1 to {}", c.nodes));
        within(any_latency_ns, "cluster: network_latency_ns", c.network_latency_ns);
        within(any_gbps, "cluster: network_bandwidth_gbps", c.network_bandwidth_gbps);
        within(any_gbps, "cluster: rack_bandwidth_gbps", c.rack_bandwidth_gbps);
        long long total = 0;
        std::set<std::string> names;
        for (const cluster_node_class& k : c.classes) {
            const std::string subject = fmt::format("cluster node class '{}': ", k.name);
            if (!names.insert(k.name).second)
                fail("two cluster node classes have one name", k.name, "a name for each");
            if (k.count < 1) fail(subject + "count", fmt::format("{}", k.count), "at least 1");
            if (k.slots < 1) fail(subject + "slots", fmt::format("{}", k.slots), "at least 1");
            within(any_speed, subject + "speed", k.speed);
            total += k.count;
        }
        if (!c.classes.empty() && total != c.nodes) {
            fail("cluster: the counts of the node classes do not add up", fmt::format("{}", total),
                 fmt::format("{}", c.nodes));
        }
    }

    const machine_parts& parts_;
};

} // namespace

void validate(const machine_parts& parts) { checker(parts).all(); }

} // namespace weft
