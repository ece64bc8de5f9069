#include "machine/workers.hpp"

#include "machine/index.hpp"
#include "machine/quota.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fmt/format.h>
#include <utility>

#include <sched.h>
#include <unistd.h>

namespace weft {

namespace {

// Ranks sorted by this are dealt out like cards: over the packages first, then over the domains of each, then
// over the cores of each domain, and only then over second hyperthreads.
struct scatter_key {
    int smt = 0;
    int core_in_domain = 0;
    int domain_in_package = 0;
    int package = 0;

    auto operator<=>(const scatter_key&) const = default;
};

scatter_key scatter_key_of(const machine& m, int rank) {
    const core& c = m.core_at(rank);
    const cache_domain& domain = m.domains()[index(c.domain)];
    const core& first_of_domain = m.core_at(domain.ranks.first);
    return {c.smt, c.physical_core - first_of_domain.physical_core,
            c.domain - m.packages()[index(c.package)].first_domain, c.package};
}

} // namespace

int workers_within(int cores, std::optional<double> quota) {
    if (!quota) return cores;
    const double rounded = std::floor(*quota + 0.5);
    return static_cast<int>(std::clamp(rounded, 1.0, static_cast<double>(cores)));
}

int default_workers(const machine& m) { return workers_within(m.size(), m.cpu_quota()); }

int usable_cores() {
    cpu_set_t mask;
    // Refused where the kernel's masks are larger than cpu_set_t.
    const bool known = sched_getaffinity(0, sizeof mask, &mask) == 0;
    const int cores = known ? CPU_COUNT(&mask) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    return workers_within(std::max(cores, 1), cpu_quota());
}

std::vector<int> ranks_for(const machine& m, int workers, pin_order how) {
    if (workers < 1 || workers > m.size()) {
        throw error(fmt::format("machine '{}': number of workers to place", m.name()),
                    fmt::format("{}", workers), fmt::format("1 to {}", m.size()));
    }
    std::vector<int> ranks(index(m.size()));
    for (int rank = 0; rank < m.size(); ++rank) ranks[index(rank)] = rank;
    if (how == pin_order::scatter) {
        std::stable_sort(ranks.begin(), ranks.end(),
                         [&](int a, int b) { return scatter_key_of(m, a) < scatter_key_of(m, b); });
    } else {
        std::stable_sort(ranks.begin(), ranks.end(),
                         [&](int a, int b) { return m.core_at(a).smt < m.core_at(b).smt; });
    }
    ranks.resize(index(workers));
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

machine restrict_to(const machine& m, const std::vector<int>& ranks) {
    machine_parts parts = m.parts();
    parts.cores.clear();
    const core* before = nullptr;
    std::vector<int> kept_domains;
    for (const int rank : ranks) {
        if (rank < 0 || rank >= m.size()) {
            throw error(fmt::format("machine '{}': rank to keep", m.name()), fmt::format("{}", rank),
                        fmt::format("0 to {}", m.size() - 1));
        }
        const core& old = m.core_at(rank);
        if (before != nullptr && before >= &old) {
            throw error(fmt::format("machine '{}': ranks to keep", m.name()), fmt::format("{}", rank),
                        "ascending ranks");
        }
        core now = old;
        if (before == nullptr) {
            now.package = now.domain = now.physical_core = now.smt = 0;
        } else {
            const core& last = parts.cores.back();
            now.package = last.package + (old.package != before->package ? 1 : 0);
            now.domain = last.domain + (old.domain != before->domain ? 1 : 0);
            now.physical_core = last.physical_core + (old.physical_core != before->physical_core ? 1 : 0);
            now.smt = old.physical_core == before->physical_core ? last.smt + 1 : 0;
        }
        if (before == nullptr || old.domain != before->domain) kept_domains.push_back(old.domain);
        parts.cores.push_back(now);
        before = &old;
    }
    const auto renumber = [&](rank_range old) {
        const auto first = std::lower_bound(ranks.begin(), ranks.end(), old.first);
        const auto last = std::lower_bound(ranks.begin(), ranks.end(), old.last);
        return rank_range{static_cast<int>(first - ranks.begin()), static_cast<int>(last - ranks.begin())};
    };
    for (cache& c : parts.caches) c.shared_by = renumber(c.shared_by);
    std::erase_if(parts.caches, [](const cache& c) { return c.shared_by.size() == 0; });
    for (memory_node& n : parts.memory_nodes) n.ranks = renumber(n.ranks);
    if (!parts.steal_latency_ns.empty()) {
        parts.steal_latency_ns.clear();
        for (const int from : kept_domains) {
            for (const int to : kept_domains) {
                parts.steal_latency_ns.push_back(
                    m.parts().steal_latency_ns[index(from) * m.domains().size() + index(to)]);
            }
        }
    }
    return machine(std::move(parts));
}

} // namespace weft
