#include "machine/index.hpp"
#include "machine/toml_parts.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace weft {

namespace {

class cache_placer {
public:
    explicit cache_placer(machine_parts& parts) : parts_(parts) {}

    void read(const toml_section& root) {
        const auto sections =
            root.tables("cache", {"level", "bytes", "line_bytes", "ways", "shared_by", "class", "latency_ns",
                                  "bandwidth_gbps", "shared_bandwidth_gbps", "inclusive", "replacement"});
        std::vector<placed_cache> placed;
        for (const toml_section& s : sections) place_cache(s, placed);
        std::stable_sort(placed.begin(), placed.end(), [](const placed_cache& a, const placed_cache& b) {
            return std::pair(a.what.level, a.what.shared_by.first) <
                   std::pair(b.what.level, b.what.shared_by.first);
        });
        for (std::size_t i = 0; i < placed.size(); ++i) {
            const cache& c = placed[i].what;
            if (i > 0 && placed[i - 1].what.level == c.level &&
                placed[i - 1].what.shared_by.last > c.shared_by.first) {
                placed[i].from->refuse(
                    "level", fmt::format("rank {} has two caches of this level", c.shared_by.first), "one");
            }
            parts_.caches.push_back(c);
        }
    }

private:
    struct placed_cache {
        cache what;
        const toml_section* from;
    };

    void place_cache(const toml_section& s, std::vector<placed_cache>& placed) const {
        cache out;
        out.level = s.count("level", 1, 9);
        out.bytes = s.bytes("bytes");
        out.line_bytes = s.count("line_bytes", 1, 65536, 64);
        if ((out.line_bytes & (out.line_bytes - 1)) != 0)
            s.refuse("line_bytes", "not a power of two", "1, 2, 4, ... 65536");
        if (out.line_bytes > out.bytes)
            s.refuse("line_bytes", "larger than the cache", fmt::format("at most {}", out.bytes));
        out.ways = s.count("ways", 0, 1 << 20, 0);
        out.latency_ns = s.maybe_number("latency_ns", any_latency_ns);
        out.bandwidth_gbps = s.maybe_number("bandwidth_gbps", any_gbps);
        out.shared_bandwidth_gbps = s.maybe_number("shared_bandwidth_gbps", any_gbps);
        out.inclusive = s.boolean("inclusive", false);
        if (s.has("replacement") && s.one_of("replacement", {"lru", "random"}) == "random")
            out.replaces = replacement::random;
        const int only = s.has("class") ? class_of(s, parts_.core_classes) : -1;
        const bool by_word = !s.has("shared_by") || s.is_string("shared_by");
        const bool whole_domain =
            s.is_string("shared_by") && s.one_of("shared_by", {"core", "domain"}) == "domain";
        const int sharing = by_word ? 1 : s.count("shared_by", 1, most_ranks);

        // Runs of cores of one domain that have this cache; each is cut into groups of `sharing` cores.
        const int ranks = static_cast<int>(parts_.cores.size());
        const auto has_it = [&](int rank) {
            return only < 0 || parts_.cores[index(rank)].core_class == only;
        };
        const std::size_t before = placed.size();
        for (int first = 0; first < ranks;) {
            const int domain = parts_.cores[index(first)].domain;
            const bool its = has_it(first);
            int last = first + 1;
            while (last < ranks && parts_.cores[index(last)].domain == domain && has_it(last) == its) ++last;
            if (its && whole_domain) {
                const bool starts = first == 0 || parts_.cores[index(first - 1)].domain != domain;
                const bool ends = last == ranks || parts_.cores[index(last)].domain != domain;
                if (!starts || !ends) {
                    s.refuse("class", fmt::format("domain {} has cores of other classes too", domain),
                             "a number in shared_by, or a class that has whole domains");
                }
                out.shared_by = {first, last};
                placed.push_back({out, &s});
            } else if (its) {
                cut_run(s, out, {first, last}, sharing, placed);
            }
            first = last;
        }
        if (placed.size() == before) s.refuse("class", "no core is of this class", "a class that a core has");
    }

    void cut_run(const toml_section& s, cache out, rank_range run, int sharing,
                 std::vector<placed_cache>& placed) const {
        const int cores = parts_.cores[index(run.last - 1)].physical_core -
                          parts_.cores[index(run.first)].physical_core + 1;
        if (cores % sharing != 0) {
            s.refuse("shared_by", fmt::format("{} adjacent cores of a domain cannot be divided by it", cores),
                     fmt::format("\"core\", \"domain\", or a divisor of {}", cores));
        }
        for (int first = run.first; first < run.last; first = out.shared_by.last) {
            const int end = parts_.cores[index(first)].physical_core + sharing;
            out.shared_by = {first, first};
            while (out.shared_by.last < run.last &&
                   parts_.cores[index(out.shared_by.last)].physical_core < end)
                ++out.shared_by.last;
            placed.push_back({out, &s});
        }
    }

    machine_parts& parts_;
};

} // namespace

void read_toml_caches(const toml_section& root, machine_parts& parts) { cache_placer(parts).read(root); }

} // namespace weft
