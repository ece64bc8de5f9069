#include "machine/toml_parts.hpp"

#include <fmt/format.h>
#include <optional>

namespace weft {

namespace {

std::vector<double> symmetric(const toml_section& s, const char* key, std::size_t side, number_range range) {
    std::vector<double> values = s.matrix(key, side, range);
    for (std::size_t i = 0; i < side; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const double a = values[i * side + j];
            const double b = values[j * side + i];
            if (a < b || a > b) {
                s.refuse(key, fmt::format("[{}][{}] and [{}][{}] differ", i, j, j, i),
                         fmt::format("{} and {}", a, b), "a symmetric matrix");
            }
        }
    }
    return values;
}

// A matrix from one number for all pairs of two nodes; the diagonal comes from the nodes themselves.
template <class Local>
void fill(const toml_section& s, const char* whole, const char* key, number_range range,
          const machine_parts& parts, std::vector<double>& matrix, Local local_of) {
    if (!s.has(key)) return;
    if (s.has(whole)) s.refuse(key, fmt::format("there is a '{}' too", whole), "one of the two");
    const double remote = s.number(key, range);
    const std::size_t side = parts.memory_nodes.size();
    matrix.assign(side * side, remote);
    for (std::size_t i = 0; i < side; ++i) {
        const std::optional<double> local = local_of(parts.memory_nodes[i]);
        if (!local)
            s.refuse(key, fmt::format("memory node {} does not say its own", i),
                     "only where every [[memory_node]] does");
        matrix[i * side + i] = *local;
    }
}

} // namespace

void read_toml_distances(const toml_section& root, machine_parts& parts) {
    const auto s =
        root.table("distance", {"nodes", "remote", "latency_ns", "remote_latency_ns", "bandwidth_gbps",
                                "remote_bandwidth_gbps", "routes", "line_overhead_bytes"});
    if (!s) return;
    const std::size_t side = parts.memory_nodes.size();
    if (s->has("nodes")) {
        parts.node_distances = symmetric(*s, "nodes", side, any_distance);
        for (std::size_t i = 0; i < side; ++i) {
            const double local = parts.node_distances[i * side + i];
            if (local > 10)
                s->refuse("nodes", fmt::format("[{}][{}] is not 10", i, i), fmt::format("{}", local),
                          "10 on the diagonal");
        }
    }
    fill(*s, "nodes", "remote", any_distance, parts, parts.node_distances,
         [](const memory_node&) { return std::optional<double>(10); });
    if (s->has("latency_ns")) parts.node_latency_ns = s->matrix("latency_ns", side, any_load_ns);
    fill(*s, "latency_ns", "remote_latency_ns", any_load_ns, parts, parts.node_latency_ns,
         [](const memory_node& n) { return n.latency_ns; });
    if (s->has("bandwidth_gbps")) parts.node_bandwidth_gbps = s->matrix("bandwidth_gbps", side, any_gbps);
    fill(*s, "bandwidth_gbps", "remote_bandwidth_gbps", any_gbps, parts, parts.node_bandwidth_gbps,
         [](const memory_node& n) { return n.bandwidth_gbps; });
    if (s->has("routes")) parts.node_routes = s->lists("routes", 0, static_cast<int>(side) - 1);
    parts.line_overhead_bytes =
        s->number("line_overhead_bytes", any_line_overhead, parts.line_overhead_bytes);
}

void read_toml_steal(const toml_section& root, machine_parts& parts) {
    const auto s = root.table("steal", {"same_domain_ns", "same_package_ns", "other_package_ns", "matrix_ns",
                                        "other_package_gbps", "message_bytes"});
    if (!s) return;
    if (s->has("other_package_gbps")) {
        parts.link_gbps = s->number("other_package_gbps", any_gbps);
        if (s->has("message_bytes")) parts.message_bytes = s->bytes("message_bytes");
    } else if (s->has("message_bytes")) {
        s->refuse("message_bytes", "without 'other_package_gbps'", "a bandwidth of the links");
    }
    const std::size_t side = static_cast<std::size_t>(parts.cores.back().domain) + 1;
    if (s->has("matrix_ns")) {
        for (const char* key : {"same_domain_ns", "same_package_ns", "other_package_ns"}) {
            if (s->has(key)) s->refuse(key, "there is a 'matrix_ns' too", "one of the two");
        }
        parts.steal_latency_ns = symmetric(*s, "matrix_ns", side, any_latency_ns);
        return;
    }
    std::vector<int> package_of(side);
    for (const core& c : parts.cores) package_of[static_cast<std::size_t>(c.domain)] = c.package;
    const int packages = package_of.back() + 1;
    const double inside = s->number("same_domain_ns", any_latency_ns);
    // Required as soon as a pair of domains needs it.
    const double near = static_cast<int>(side) > packages
                            ? s->number("same_package_ns", any_latency_ns)
                            : s->number("same_package_ns", any_latency_ns, inside);
    const double far = packages > 1 ? s->number("other_package_ns", any_latency_ns)
                                    : s->number("other_package_ns", any_latency_ns, near);
    for (std::size_t i = 0; i < side; ++i) {
        for (std::size_t j = 0; j < side; ++j) {
            parts.steal_latency_ns.push_back(i == j ? inside : package_of[i] == package_of[j] ? near : far);
        }
    }
}

} // namespace weft
