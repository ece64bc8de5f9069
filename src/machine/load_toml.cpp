#include "machine/index.hpp"
#include "machine/load.hpp"
#include "machine/machine_files.hpp"
#include "machine/read_file.hpp"
#include "machine/toml_parts.hpp"
#include "machine/toml_section.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <system_error>
#include <utility>

namespace weft {

namespace {

std::string class_names(const std::vector<core_class>& classes) {
    std::string names;
    for (const core_class& c : classes) names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", c.name);
    return names;
}

constexpr std::initializer_list<const char*> core_class_keys = {
    "name", "speed", "compute_speed", "memory_speed", "frequency_mhz", "frequencies_mhz"};

core_class read_core_class(const toml_section& s, const std::vector<core_class>& before) {
    core_class out;
    out.name = s.text("name");
    for (const core_class& other : before) {
        if (other.name == out.name) s.refuse("name", "two core classes have this name", "a name for each");
    }
    out.speed = s.number("speed", any_speed, 1.0);
    out.compute_speed = s.maybe_number("compute_speed", any_speed);
    out.memory_speed = s.maybe_number("memory_speed", any_speed);
    out.frequency_mhz = s.number("frequency_mhz", any_mhz, 0);
    out.frequencies_mhz = s.numbers("frequencies_mhz", any_mhz);
    if (std::adjacent_find(out.frequencies_mhz.begin(), out.frequencies_mhz.end(), std::less_equal<>()) !=
        out.frequencies_mhz.end()) {
        s.refuse("frequencies_mhz", "not in order", "numbers from the highest to the lowest, no two alike");
    }
    return out;
}

class toml_machine {
public:
    toml_machine(const toml::table& table, const std::string& file)
        : root_(table, file, "",
                {"name", "description", "core_class", "regular", "domain", "memory_node", "distance", "steal",
                 "cache", "device", "disk", "cluster", "charges", "preemption", "time_sharing", "exchange",
                 "model"}) {}

    machine_parts read() {
        parts_.name = root_.text("name");
        parts_.description = root_.text("description", "");
        parts_.absent_is_free = true;
        read_classes();
        read_memory_nodes();
        read_cores();
        check_memory_nodes();
        read_toml_distances(root_, parts_);
        read_toml_steal(root_, parts_);
        read_toml_caches(root_, parts_);
        read_toml_devices(root_, parts_);
        read_toml_disks(root_, parts_);
        read_toml_cluster(root_, parts_);
        read_toml_charges(root_, parts_);
        read_toml_preemption(root_, parts_);
        read_toml_time_sharing(root_, parts_);
        read_toml_exchange(root_, parts_);
        read_toml_model(root_, parts_);
        return std::move(parts_);
    }

private:
    void read_classes() {
        for (const toml_section& c : root_.tables("core_class", core_class_keys))
            parts_.core_classes.push_back(read_core_class(c, parts_.core_classes));
        if (parts_.core_classes.empty()) parts_.core_classes.emplace_back();
    }

    void read_memory_nodes() {
        for (const toml_section& s : root_.tables(
                 "memory_node", {"count", "kind", "bytes", "bandwidth_gbps", "latency_ns", "only_memory"})) {
            memory_node out;
            out.kind = s.text("kind", "dram");
            if (s.has("bytes")) out.bytes = s.bytes("bytes");
            out.bandwidth_gbps = s.maybe_number("bandwidth_gbps", any_gbps);
            out.latency_ns = s.maybe_number("latency_ns", any_load_ns);
            const bool only_memory = s.boolean("only_memory", false);
            const int count = s.count("count", 1, most_nodes, 1);
            for (int i = 0; i < count; ++i) {
                if (parts_.memory_nodes.size() == index(most_nodes))
                    s.refuse("count", "too many nodes", fmt::format("{} in all", most_nodes));
                parts_.memory_nodes.push_back(out);
                node_origins_.push_back({s, only_memory});
            }
        }
    }

    // Every domain goes through here, in rank order.
    struct core_run {
        int core_class = 0;
        int count = 1;
        int threads_per_core = 1;
    };

    void add_domain(const toml_section& s, int package, int node, const std::vector<core_run>& runs) {
        const int domain = parts_.cores.empty() ? 0 : parts_.cores.back().domain + 1;
        int physical = parts_.cores.empty() ? 0 : parts_.cores.back().physical_core + 1;
        for (const core_run& run : runs) {
            for (int c = 0; c < run.count; ++c, ++physical) {
                for (int smt = 0; smt < run.threads_per_core; ++smt) {
                    if (parts_.cores.size() == index(most_ranks)) {
                        s.refuse("", "too many ranks", fmt::format("more than {}", most_ranks),
                                 fmt::format("{} in all", most_ranks));
                    }
                    parts_.cores.push_back({-1, run.core_class, physical, smt, package, domain, node});
                }
            }
        }
    }

    void read_cores() {
        const auto regular = root_.table("regular", {"packages", "domains_per_package", "cores_per_domain",
                                                     "threads_per_core", "class", "memory_node_per"});
        const auto domains =
            root_.tables("domain", {"package", "memory_node", "count", "cores", "threads_per_core", "class"});
        if (regular.has_value() == !domains.empty()) {
            root_.refuse(regular ? "domain" : "",
                         regular ? "there is a [regular] too" : "no cores are described",
                         regular ? "both" : "neither", "either [regular] or [[domain]] tables");
        }
        if (regular) {
            read_regular(*regular);
        } else {
            for (const toml_section& s : domains) read_domain(s);
        }
    }

    void read_regular(const toml_section& s) {
        const int packages = s.count("packages", 1, most_ranks, 1);
        const int domains = s.count("domains_per_package", 1, most_ranks, 1);
        const core_run run{class_of(s, parts_.core_classes), s.count("cores_per_domain", 1, most_ranks),
                           s.count("threads_per_core", 1, 64, 1)};
        const std::string per = s.has("memory_node_per")
                                    ? s.one_of("memory_node_per", {"machine", "package", "domain"})
                                    : "package";
        for (int p = 0; p < packages; ++p) {
            for (int d = 0; d < domains; ++d) {
                const int node = per == "machine" ? 0 : per == "package" ? p : p * domains + d;
                add_domain(s, p, node, {run});
            }
        }
    }

    void read_domain(const toml_section& s) {
        const int before = parts_.cores.empty() ? 0 : parts_.cores.back().package;
        const int package = s.count("package", 0, most_ranks, 0);
        if (package != before && !(package == before + 1 && !parts_.cores.empty())) {
            s.refuse("package", "packages are not adjacent",
                     s.has("package") ? fmt::format("{}", package) : "nothing, so 0",
                     parts_.cores.empty() ? "0 for the first" : fmt::format("{} or {}", before, before + 1));
        }
        if (!s.has("memory_node") && parts_.memory_nodes.size() > 1) {
            s.refuse("memory_node", "missing key, as there are several memory nodes", "nothing",
                     fmt::format("0 to {}", parts_.memory_nodes.size() - 1));
        }
        const int most_node = std::max(0, static_cast<int>(parts_.memory_nodes.size()) - 1);
        const int node = s.count("memory_node", 0, most_node, 0);
        if (!parts_.cores.empty()) {
            const int last_node = parts_.cores.back().memory_node;
            const bool seen = std::any_of(parts_.cores.begin(), parts_.cores.end(),
                                          [&](const core& c) { return c.memory_node == node; });
            if (node != last_node && seen)
                s.refuse("memory_node", "the cores of a memory node are not adjacent",
                         "a node that no earlier domain left");
        }
        std::vector<core_run> runs;
        if (s.is_array("cores")) {
            for (const char* key : {"class", "threads_per_core"}) {
                if (s.has(key))
                    s.refuse(key, "given for the domain and for its cores", "in the tables in 'cores' only");
            }
            for (const toml_section& c : s.tables("cores", {"class", "count", "threads_per_core"})) {
                runs.push_back({class_of(c, parts_.core_classes), c.count("count", 1, most_ranks),
                                c.count("threads_per_core", 1, 64, 1)});
            }
        } else {
            runs.push_back({class_of(s, parts_.core_classes), s.count("cores", 1, most_ranks),
                            s.count("threads_per_core", 1, 64, 1)});
        }
        const int count = s.count("count", 1, most_ranks, 1);
        for (int i = 0; i < count; ++i) add_domain(s, package, node, runs);
    }

    void check_memory_nodes() {
        // Before anything is kept for each pair.
        if (parts_.cores.back().domain >= most_domains)
            root_.refuse("", "too many domains", fmt::format("{}", parts_.cores.back().domain + 1),
                         fmt::format("{} in all", most_domains));
        const int used =
            1 + std::max_element(parts_.cores.begin(), parts_.cores.end(), [](const core& a, const core& b) {
                    return a.memory_node < b.memory_node;
                })->memory_node;
        if (used > most_nodes)
            root_.refuse("", "too many memory nodes", fmt::format("{}", used),
                         fmt::format("{} in all", most_nodes));
        if (parts_.memory_nodes.empty()) parts_.memory_nodes.resize(index(used));
        if (parts_.memory_nodes.size() < index(used)) {
            root_.refuse("memory_node", "the number of memory nodes does not match the cores",
                         fmt::format("{}", parts_.memory_nodes.size()), fmt::format("at least {}", used));
        }
        for (int rank = 0; rank < static_cast<int>(parts_.cores.size()); ++rank) {
            rank_range& ranks = parts_.memory_nodes[index(parts_.cores[index(rank)].memory_node)].ranks;
            if (ranks.size() == 0) ranks.first = rank;
            ranks.last = rank + 1;
        }
        for (std::size_t n = 0; n < node_origins_.size(); ++n) {
            const bool bare = parts_.memory_nodes[n].ranks.size() == 0;
            if (bare == node_origins_[n].only_memory) continue;
            node_origins_[n].section.refuse("only_memory",
                                            bare ? fmt::format("memory node {} has no cores", n)
                                                 : fmt::format("memory node {} has cores", n),
                                            bare ? "only_memory = false" : "only_memory = true",
                                            bare ? "only_memory = true, or as many nodes as the cores need"
                                                 : "only_memory = false");
        }
    }

    struct node_origin {
        toml_section section;
        bool only_memory;
    };

    toml_section root_;
    machine_parts parts_;
    std::vector<node_origin> node_origins_; // one a memory node that the file describes
};

} // namespace

int class_of(const toml_section& s, const std::vector<core_class>& classes) {
    if (!s.has("class")) {
        if (classes.size() == 1) return 0;
        s.refuse("class", "missing key, as there are several core classes", "nothing", class_names(classes));
    }
    const std::string name = s.text("class");
    for (std::size_t i = 0; i < classes.size(); ++i) {
        if (classes[i].name == name) return static_cast<int>(i);
    }
    s.refuse("class", "no such core class", class_names(classes));
}

namespace {

machine parse(std::string_view text, const std::string& name, bool stands_alone);

/// The machine of another file, with other core classes.
machine_parts read_based_on(const toml::table& table, const std::string& file, bool stands_alone) {
    const toml_section root(table, file, "", {"name", "description", "based_on", "core_class"});
    const std::string base = root.text("based_on");
    if (stands_alone)
        root.refuse("based_on", "another file is based on this one",
                    "a machine that is described as a whole");
    if (!is_machine_name(base))
        root.refuse("based_on", "not the name of a machine file", "a name, such as \"hikey960\"");
    const std::filesystem::path beside = std::filesystem::path(file).parent_path() / (base + ".toml");
    const std::filesystem::path from = std::filesystem::exists(beside) ? beside : find_machine_file(base);
    machine_parts parts =
        parse(read_file(from, "machine description", "a readable TOML file"), from.string(), true).parts();
    parts.name = root.text("name");
    parts.description = root.text("description", "");
    parts.core_classes.clear();
    std::size_t rank = 0;
    for (const toml_section& s : root.tables("core_class", {"name", "speed", "compute_speed", "memory_speed",
                                                            "frequency_mhz", "frequencies_mhz", "cores"})) {
        parts.core_classes.push_back(read_core_class(s, parts.core_classes));
        const int wanted = s.count("cores", 1, most_ranks);
        for (int left = wanted; left > 0; --left) {
            if (rank == parts.cores.size())
                s.refuse("cores", fmt::format("more cores than '{}' has", base),
                         fmt::format("{} in all", parts.cores.back().physical_core + 1));
            const int physical = parts.cores[rank].physical_core;
            for (; rank < parts.cores.size() && parts.cores[rank].physical_core == physical; ++rank)
                parts.cores[rank].core_class = static_cast<int>(parts.core_classes.size()) - 1;
        }
    }
    if (rank < parts.cores.size())
        root.refuse("core_class", fmt::format("the classes have fewer cores than '{}'", base),
                    rank == 0 ? "none" : fmt::format("{}", parts.cores[rank - 1].physical_core + 1),
                    fmt::format("{} in all", parts.cores.back().physical_core + 1));
    return parts;
}

machine parse(std::string_view text, const std::string& name, bool stands_alone) {
    const toml::table table = parse_toml_table(text, name);
    machine_parts parts = table.contains("based_on") ? read_based_on(table, name, stands_alone)
                                                     : toml_machine(table, name).read();
    try {
        return machine(std::move(parts));
    } catch (const error& failure) { throw error(fmt::format("{}: {}", name, failure.what())); }
}

} // namespace

machine parse_toml(std::string_view text, std::string_view name) {
    return parse(text, std::string(name), false);
}

machine load_toml(const std::filesystem::path& file) {
    return parse_toml(read_file(file, "machine description", "a readable TOML file"), file.string());
}

} // namespace weft
