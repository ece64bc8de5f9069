#include "machine/describe.hpp"
#include "machine/index.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace weft {

namespace {

std::string plural(int count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string shown(rank_range ranks) {
    return ranks.size() == 1 ? fmt::format("rank {}", ranks.first)
                             : fmt::format("ranks {}-{}", ranks.first, ranks.last - 1);
}

class writer {
public:
    explicit writer(const machine& m) : m_(m) {}

    std::string all() {
        line(0, "{}: {} on {} in {}, {}", m_.name(), plural(m_.size(), "rank"),
             plural(m_.physical_cores(), "core"),
             plural(static_cast<int>(m_.domains().size()), "cache domain"),
             plural(static_cast<int>(m_.packages().size()), "package"));
        if (!m_.description().empty()) line(1, "{}", m_.description());
        if (m_.cpu_quota()) line(1, "processor quota: {} cores", *m_.cpu_quota());
        packages();
        nodes();
        classes();
        steals();
        devices();
        disks();
        cluster();
        return fmt::to_string(out_);
    }

private:
    template <class... Args>
    void line(int depth, fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), "{:{}}", "", depth * 2);
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
        out_.push_back('\n');
    }

    // What is in a domain, without anything that tells it from an equal one elsewhere.
    std::string inside(const cache_domain& domain) const {
        std::map<int, std::map<std::string, int>, std::greater<>> by_level;
        for (const cache& c : m_.caches()) {
            if (!domain.ranks.contains(c.shared_by)) continue;
            std::string text = fmt::format("L{} {}", c.level, bytes_to_string(c.bytes));
            if (c.latency_ns) text += fmt::format(" {} ns", *c.latency_ns);
            if (c.bandwidth_gbps) text += fmt::format(" {} GB/s", *c.bandwidth_gbps);
            ++by_level[c.level][text];
        }
        std::string text;
        for (const auto& [level, caches] : by_level) {
            for (const auto& [what, count] : caches)
                text += (count == 1 ? "" : fmt::format("{} x ", count)) + what + ", ";
        }
        return text + cores_of(domain);
    }

    std::string cores_of(const cache_domain& domain) const {
        std::string text;
        for (int rank = domain.ranks.first; rank < domain.ranks.last;) {
            const int threads = m_.siblings_of(rank).size();
            int next = rank;
            int cores = 0;
            while (next < domain.ranks.last && m_.core_at(next).core_class == m_.core_at(rank).core_class &&
                   m_.siblings_of(next).size() == threads) {
                next += threads;
                ++cores;
            }
            text += fmt::format("{}{}", text.empty() ? "" : ", ", plural(cores, "core"));
            if (m_.core_classes().size() > 1) text += " " + m_.class_of(rank).name;
            if (threads > 1) text += fmt::format(" of {} threads", threads);
            rank = next;
        }
        return text;
    }

    void packages() {
        for (std::size_t p = 0; p < m_.packages().size(); ++p) {
            const package& pack = m_.packages()[p];
            line(1, "package {} ({})", p, shown(pack.ranks));
            for (int d = pack.first_domain; d < pack.last_domain;) {
                const cache_domain& domain = m_.domains()[index(d)];
                const std::string what = inside(domain);
                int last = d + 1;
                while (last < pack.last_domain &&
                       m_.domains()[index(last)].memory_node == domain.memory_node &&
                       inside(m_.domains()[index(last)]) == what) {
                    ++last;
                }
                const rank_range ranks{domain.ranks.first, m_.domains()[index(last - 1)].ranks.last};
                if (last == d + 1) {
                    line(2, "domain {} ({}, node {}): {}", d, shown(ranks), domain.memory_node, what);
                } else {
                    line(2, "domains {}-{} ({}, node {}): {} x ({})", d, last - 1, shown(ranks),
                         domain.memory_node, last - d, what);
                }
                d = last;
            }
        }
    }

    void nodes() {
        const int count = static_cast<int>(m_.memory_nodes().size());
        for (int n = 0; n < count; ++n) {
            const memory_node& node = m_.memory_nodes()[index(n)];
            std::string text =
                fmt::format("memory node {}: {} {}", n,
                            node.bytes > 0 ? bytes_to_string(node.bytes) : "unknown size", node.kind);
            if (node.bandwidth_gbps) text += fmt::format(", {} GB/s", *node.bandwidth_gbps);
            if (node.latency_ns) text += fmt::format(", {} ns", *node.latency_ns);
            text += node.ranks.size() == 0 ? ", no cores" : ", " + shown(node.ranks);
            if (count > 1) {
                text += ", distances";
                for (int to = 0; to < count; ++to) text += fmt::format(" {}", m_.node_distance(n, to));
            }
            line(1, "{}", text);
        }
    }

    void classes() {
        for (const core_class& c : m_.core_classes()) {
            const bool plain = m_.core_classes().size() == 1 && !(c.frequency_mhz > 0);
            if (plain) continue;
            std::string text = fmt::format("core class {}: speed {}", c.name, c.speed);
            if (c.compute_speed) text += fmt::format(", compute {}", *c.compute_speed);
            if (c.memory_speed) text += fmt::format(", memory {}", *c.memory_speed);
            if (c.frequency_mhz > 0) text += fmt::format(", {} MHz", c.frequency_mhz);
            if (!c.frequencies_mhz.empty())
                text += fmt::format(" (of {} MHz)", fmt::join(c.frequencies_mhz, ", "));
            line(1, "{}", text);
        }
    }

    void steals() {
        if (m_.parts().steal_latency_ns.empty()) return;
        std::array<std::optional<std::pair<double, double>>, 3> spans;
        for (std::size_t a = 0; a < m_.domains().size(); ++a) {
            for (std::size_t b = 0; b < m_.domains().size(); ++b) {
                const double ns = m_.parts().steal_latency_ns[a * m_.domains().size() + b];
                const std::size_t kind = a == b                                               ? 0U
                                         : m_.domains()[a].package == m_.domains()[b].package ? 1U
                                                                                              : 2U;
                auto& span = spans[kind];
                span = span ? std::pair(std::min(span->first, ns), std::max(span->second, ns))
                            : std::pair(ns, ns);
            }
        }
        const std::array<const char*, 3> names = {"in a domain", "in a package", "between packages"};
        std::string text;
        for (std::size_t kind = 0; kind < spans.size(); ++kind) {
            if (!spans[kind]) continue;
            const auto [least, most] = *spans[kind];
            text += text.empty() ? "" : ", ";
            text += least < most ? fmt::format("{} to {} ns {}", least, most, names[kind])
                                 : fmt::format("{} ns {}", least, names[kind]);
        }
        line(1, "steal latency: {}", text);
    }

    void devices() {
        for (const device& d : m_.devices()) {
            std::string text = fmt::format("device {}{}: {}",
                                           d.count > 1 ? fmt::format("{} x ", d.count) : "", d.name, d.kind);
            if (d.memory_bytes > 0) text += ", " + bytes_to_string(d.memory_bytes);
            if (d.compute_units > 0) text += fmt::format(", {}", plural(d.compute_units, "compute unit"));
            if (d.bandwidth_gbps) text += fmt::format(", {} GB/s", *d.bandwidth_gbps);
            if (d.link_bandwidth_gbps) text += fmt::format(", link {} GB/s", *d.link_bandwidth_gbps);
            line(1, "{}, speed {}", text, d.speed);
        }
    }

    void disks() {
        for (const disk& d : m_.disks())
            line(1, "disk {}: {} GB/s{}", d.name, d.bandwidth_gbps,
                 d.latency_ns ? fmt::format(", {} ns", *d.latency_ns) : "");
    }

    void cluster() {
        if (!m_.cluster()) return;
        const weft::cluster& c = *m_.cluster();
        line(1, "cluster: {} in {}, {} ns, {} GB/s", plural(c.nodes, "node"), plural(c.racks, "rack"),
             c.network_latency_ns, c.network_bandwidth_gbps);
        for (const cluster_node_class& k : c.classes) {
            line(2, "{} x {}: {}, speed {}", k.count, k.name, plural(k.slots, "slot"), k.speed);
        }
    }

    const machine& m_;
    fmt::memory_buffer out_;
};

} // namespace

std::string bytes_to_string(std::int64_t bytes) {
    const std::array<std::pair<const char*, std::int64_t>, 4> units = {{{"TiB", std::int64_t{1} << 40},
                                                                        {"GiB", std::int64_t{1} << 30},
                                                                        {"MiB", std::int64_t{1} << 20},
                                                                        {"KiB", 1024}}};
    for (const auto& [name, unit] : units) {
        if (bytes < unit) continue;
        if (bytes % unit == 0) return fmt::format("{} {}", bytes / unit, name);
        // One decimal, where it is exact: a tenth of the unit must divide it in whole bytes.
        if ((bytes % unit) * 10 % unit == 0)
            return fmt::format("{}.{} {}", bytes / unit, (bytes % unit) * 10 / unit, name);
    }
    return fmt::format("{} B", bytes);
}

std::string describe(const machine& m) { return writer(m).all(); }

} // namespace weft
