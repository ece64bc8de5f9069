#include "machine/toml_parts.hpp"

#include <fmt/format.h>

namespace weft {

void read_toml_devices(const toml_section& root, machine_parts& parts) {
    for (const toml_section& s : root.tables(
             "device", {"name", "kind", "count", "memory_bytes", "compute_units", "speed", "bandwidth_gbps",
                        "link_bandwidth_gbps", "link_latency_ns", "launch_latency_ns", "memory_node"})) {
        device out;
        out.name = s.text("name");
        for (const device& other : parts.devices) {
            if (other.name == out.name) s.refuse("name", "two devices have this name", "a name for each");
        }
        out.kind = s.text("kind", out.kind);
        out.count = s.count("count", 1, most_ranks, 1);
        if (s.has("memory_bytes")) out.memory_bytes = s.bytes("memory_bytes");
        out.compute_units = s.count("compute_units", 1, 1 << 20, 0);
        out.speed = s.number("speed", any_speed, 1.0);
        out.bandwidth_gbps = s.maybe_number("bandwidth_gbps", any_gbps);
        out.link_bandwidth_gbps = s.maybe_number("link_bandwidth_gbps", any_gbps);
        out.link_latency_ns = s.maybe_number("link_latency_ns", any_latency_ns);
        out.launch_latency_ns = s.maybe_number("launch_latency_ns", any_latency_ns);
        out.memory_node = s.count("memory_node", 0, static_cast<int>(parts.memory_nodes.size()) - 1, -1);
        parts.devices.push_back(out);
    }
}

void read_toml_disks(const toml_section& root, machine_parts& parts) {
    for (const toml_section& s : root.tables("disk", {"name", "bandwidth_gbps", "latency_ns"})) {
        disk out;
        out.name = s.text("name");
        for (const disk& other : parts.disks) {
            if (other.name == out.name) s.refuse("name", "two disks have this name", "a name for each");
        }
        out.bandwidth_gbps = s.number("bandwidth_gbps", any_gbps);
        out.latency_ns = s.maybe_number("latency_ns", any_latency_ns);
        parts.disks.push_back(out);
    }
}

void read_toml_cluster(const toml_section& root, machine_parts& parts) {
    const auto s = root.table("cluster", {"nodes", "racks", "network_latency_ns", "network_bandwidth_gbps",
                                          "rack_bandwidth_gbps", "node"});
    if (!s) return;
    cluster out;
    out.nodes = s->count("nodes", 1, 1 << 20);
    out.racks = s->count("racks", 1, out.nodes, 1);
    out.network_latency_ns = s->number("network_latency_ns", any_latency_ns);
    out.network_bandwidth_gbps = s->number("network_bandwidth_gbps", any_gbps);
    out.rack_bandwidth_gbps = s->maybe_number("rack_bandwidth_gbps", any_gbps);
    int total = 0;
    for (const toml_section& n : s->tables("node", {"name", "count", "slots", "speed"})) {
        cluster_node_class k;
        k.name = n.text("name");
        for (const cluster_node_class& other : out.classes) {
            if (other.name == k.name)
                n.refuse("name", "two classes of nodes have this name", "a name for each");
        }
        k.count = n.count("count", 1, out.nodes, 1);
        k.slots = n.count("slots", 1, most_ranks, 1);
        k.speed = n.number("speed", any_speed, 1.0);
        total += k.count;
        if (total > out.nodes)
            n.refuse("count", "more nodes than the cluster has", fmt::format("{} in all", out.nodes));
        out.classes.push_back(k);
    }
    if (!out.classes.empty() && total != out.nodes) {
        s->refuse("nodes", fmt::format("the classes of nodes add up to {}", total), "their sum");
    }
    parts.cluster_of = out;
}

} // namespace weft
