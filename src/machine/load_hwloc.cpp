#include "machine/index.hpp"
#include "machine/load.hpp"
#include "machine/read_file.hpp"
#include "machine/this_machine.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <hwloc.h>
#include <memory>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft {

namespace {

struct topology_destroyer {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using topology_ptr = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, topology_destroyer>;

struct bitmap_freer {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using bitmap_ptr = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, bitmap_freer>;

topology_ptr new_topology() {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) throw error("hwloc cannot make a topology");
    topology_ptr topology(raw);
    // Instruction caches and everything that is no place for a worker would only be in the way.
    hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    hwloc_topology_set_cache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
    return topology;
}

std::string info_of(unsigned count, const hwloc_info_s* infos, const char* name) {
    for (unsigned i = 0; i < count; ++i) {
        if (std::strcmp(infos[i].name, name) == 0 && infos[i].value != nullptr) return infos[i].value;
    }
    return {};
}

double number_of(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == '\0' && std::isfinite(value) && value > 0 ? value : 0;
}

bool is_data_cache(hwloc_obj_t object) {
    return hwloc_obj_type_is_cache(object->type) != 0 &&
           object->attr->cache.type != HWLOC_OBJ_CACHE_INSTRUCTION;
}

class reader {
public:
    reader(hwloc_topology_t topology, bool modelled) : topology_(topology), modelled_(modelled) {}

    machine_parts read(std::string name, std::string description) {
        parts_.name = std::move(name);
        parts_.description = std::move(description);
        read_nodes();
        read_classes();
        read_cores();
        finish_nodes();
        read_caches();
        read_distances();
        return std::move(parts_);
    }

private:
    void read_nodes() {
        hwloc_obj_t node = nullptr;
        while ((node = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
            memory_node out;
            out.os_index = modelled_ ? -1 : static_cast<int>(node->os_index);
            out.bytes = static_cast<std::int64_t>(node->attr->numanode.local_memory);
            if (node->subtype != nullptr && std::strcmp(node->subtype, "MCDRAM") == 0) out.kind = "hbm";
            parts_.memory_nodes.push_back(out);
        }
    }

    // Speeds come from what Linux measured (LinuxCapacity), else from the highest clock, else they are all
    // alike: hwloc's "efficiency" is an order only.
    void read_classes() {
        const int kinds = std::max(0, hwloc_cpukinds_get_nr(topology_, 0));
        double best = 0;
        std::vector<double> strength;
        const char* const sources[] = {"LinuxCapacity", "FrequencyMaxMHz"};
        for (const char* source : sources) {
            strength.clear();
            for (int kind = 0; kind < kinds; ++kind) {
                unsigned count = 0;
                hwloc_info_s* infos = nullptr;
                hwloc_cpukinds_get_info(topology_, static_cast<unsigned>(kind), nullptr, nullptr, &count,
                                        &infos, 0);
                strength.push_back(number_of(info_of(count, infos, source)));
            }
            if (!strength.empty() && *std::min_element(strength.begin(), strength.end()) > 0) break;
            strength.clear();
        }
        if (!strength.empty()) best = *std::max_element(strength.begin(), strength.end());
        for (int kind = 0; kind < kinds; ++kind) {
            unsigned count = 0;
            hwloc_info_s* infos = nullptr;
            hwloc_cpukinds_get_info(topology_, static_cast<unsigned>(kind), nullptr, nullptr, &count, &infos,
                                    0);
            core_class out;
            const std::string type = info_of(count, infos, "CoreType");
            out.name = fmt::format("{}-{}", type.empty() ? "kind" : type, kind);
            if (!strength.empty()) out.speed = strength[index(kind)] / best;
            out.frequency_mhz = number_of(info_of(count, infos, "FrequencyMaxMHz"));
            parts_.core_classes.push_back(out);
        }
        if (parts_.core_classes.empty()) parts_.core_classes.emplace_back();
    }

    int class_of(hwloc_obj_t pu) const {
        const int kind = hwloc_cpukinds_get_by_cpuset(topology_, pu->cpuset, 0);
        return kind >= 0 && index(kind) < parts_.core_classes.size() ? kind : 0;
    }

    // The node with the fewest cores is the nearest one; of several alike (DRAM and HBM), the first.
    int node_of(hwloc_obj_t pu) const {
        hwloc_obj_t nearest = nullptr;
        hwloc_obj_t node = nullptr;
        while ((node = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
            if (hwloc_bitmap_isincluded(pu->cpuset, node->cpuset) == 0) continue;
            if (nearest == nullptr ||
                hwloc_bitmap_weight(node->cpuset) < hwloc_bitmap_weight(nearest->cpuset))
                nearest = node;
        }
        return nearest != nullptr ? static_cast<int>(nearest->logical_index) : 0;
    }

    static hwloc_obj_t ancestor(hwloc_obj_t from, hwloc_obj_type_t type) {
        while (from != nullptr && from->type != type) from = from->parent;
        return from;
    }

    // What makes the domain of a processing unit: its last-level cache where that is shared by several cores
    // of one package; else null, and the package and the memory node make it.
    hwloc_obj_t shared_cache_of(hwloc_obj_t pu) const {
        hwloc_obj_t last = nullptr;
        for (hwloc_obj_t o = pu->parent; o != nullptr; o = o->parent) {
            if (is_data_cache(o)) last = o;
        }
        if (last == nullptr) return nullptr;
        hwloc_obj_t physical = ancestor(pu, HWLOC_OBJ_CORE);
        if (physical == nullptr) physical = pu;
        // The complete sets: a mask that leaves the process one core does not make a shared cache a private
        // one.
        const bool is_private =
            hwloc_bitmap_isincluded(last->complete_cpuset, physical->complete_cpuset) != 0;
        return is_private ? nullptr : last;
    }

    void read_cores() {
        hwloc_obj_t pu = nullptr;
        hwloc_obj_t before_core = nullptr;
        hwloc_obj_t before_package = nullptr;
        hwloc_obj_t before_cache = nullptr;
        while ((pu = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_PU, pu)) != nullptr) {
            hwloc_obj_t physical = ancestor(pu, HWLOC_OBJ_CORE);
            if (physical == nullptr) physical = pu;
            hwloc_obj_t package = ancestor(pu, HWLOC_OBJ_PACKAGE);
            hwloc_obj_t cache = shared_cache_of(pu);
            core out;
            out.os_index = modelled_ ? -1 : static_cast<int>(pu->os_index);
            out.core_class = class_of(pu);
            out.memory_node = node_of(pu);
            if (!parts_.cores.empty()) {
                const core& before = parts_.cores.back();
                const bool new_package = package != before_package;
                const bool new_domain = new_package || cache != before_cache ||
                                        (cache == nullptr && out.memory_node != before.memory_node);
                const bool new_core = physical != before_core;
                out.package = before.package + (new_package ? 1 : 0);
                out.domain = before.domain + (new_domain ? 1 : 0);
                out.physical_core = before.physical_core + (new_core ? 1 : 0);
                out.smt = new_core ? 0 : before.smt + 1;
            }
            parts_.cores.push_back(out);
            before_core = physical;
            before_package = package;
            before_cache = cache;
        }
    }

    // hwloc's order is that of a tree, in which the cores of a node are adjacent, except where a node lies
    // within another one: the cores of the outer one that come after the inner one are then counted to the
    // inner one.
    void finish_nodes() {
        for (int rank = 0; rank < static_cast<int>(parts_.cores.size()); ++rank) {
            core& c = parts_.cores[index(rank)];
            const rank_range known = parts_.memory_nodes[index(c.memory_node)].ranks;
            if (known.size() > 0 && known.last != rank)
                c.memory_node = parts_.cores[index(rank - 1)].memory_node;
            rank_range& ranks = parts_.memory_nodes[index(c.memory_node)].ranks;
            if (ranks.size() == 0) ranks.first = rank;
            ranks.last = rank + 1;
        }
    }

    rank_range ranks_of(hwloc_obj_t object) const {
        hwloc_obj_t first = hwloc_get_obj_inside_cpuset_by_type(topology_, object->cpuset, HWLOC_OBJ_PU, 0);
        const int count = hwloc_get_nbobjs_inside_cpuset_by_type(topology_, object->cpuset, HWLOC_OBJ_PU);
        if (first == nullptr || count < 1) return {};
        const int rank = static_cast<int>(first->logical_index);
        return {rank, rank + count};
    }

    void read_caches() {
        for (unsigned level = 1; level <= 5; ++level) {
            const int depth = hwloc_get_cache_type_depth(topology_, level, HWLOC_OBJ_CACHE_DATA);
            if (depth < 0) continue;
            hwloc_obj_t object = nullptr;
            while ((object = hwloc_get_next_obj_by_depth(topology_, depth, object)) != nullptr) {
                const auto& attr = object->attr->cache;
                cache out;
                out.level = static_cast<int>(level);
                out.bytes = static_cast<std::int64_t>(attr.size);
                out.line_bytes = attr.linesize > 0 ? static_cast<int>(attr.linesize) : 64;
                out.ways = std::max(0, attr.associativity);
                // hwloc's -1 is "fully associative".
                if (attr.associativity < 0) out.ways = static_cast<int>(out.bytes / out.line_bytes);
                out.inclusive = info_of(object->infos_count, object->infos, "Inclusive") == "1";
                out.shared_by = ranks_of(object);
                if (out.bytes > 0 && out.shared_by.size() > 0) add_cut_to_domains(out);
            }
        }
    }

    // A cache that firmware reports to be larger than a package counts once for each part.
    void add_cut_to_domains(const cache& whole) {
        cache part = whole;
        for (int rank = whole.shared_by.first; rank < whole.shared_by.last; rank = part.shared_by.last) {
            const int domain = parts_.cores[index(rank)].domain;
            part.shared_by = {rank, rank + 1};
            while (part.shared_by.last < whole.shared_by.last &&
                   parts_.cores[index(part.shared_by.last)].domain == domain) {
                ++part.shared_by.last;
            }
            parts_.caches.push_back(part);
        }
    }

    // Firmware tables are sometimes unsymmetric, and synthetic or edited ones use any unit: the larger of the
    // two directions counts, and everything is scaled so that local is 10.
    void read_distances() {
        const std::size_t side = parts_.memory_nodes.size();
        hwloc_distances_s* found = nullptr;
        unsigned count = 1;
        const int status = hwloc_distances_get_by_type(topology_, HWLOC_OBJ_NUMANODE, &count, &found,
                                                       HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
        if (status != 0 || count == 0 || found == nullptr) return;
        const auto release = [&](hwloc_distances_s* d) { hwloc_distances_release(topology_, d); };
        const std::unique_ptr<hwloc_distances_s, decltype(release)> distances(found, release);
        if (distances->nbobjs != side) return;
        std::vector<double> values(side * side, 0);
        for (std::size_t i = 0; i < side; ++i) {
            for (std::size_t j = 0; j < side; ++j) {
                const std::size_t from = distances->objs[i]->logical_index;
                const std::size_t to = distances->objs[j]->logical_index;
                values[from * side + to] = static_cast<double>(distances->values[i * side + j]);
            }
        }
        double local = values[0];
        for (std::size_t i = 0; i < side; ++i) local = std::min(local, values[i * side + i]);
        if (local <= 0) return;
        parts_.node_distances.assign(side * side, 10);
        for (std::size_t i = 0; i < side; ++i) {
            for (std::size_t j = 0; j < side; ++j) {
                if (i == j) continue;
                const double larger = std::max(values[i * side + j], values[j * side + i]);
                parts_.node_distances[i * side + j] = std::max(10.0, larger * 10 / local);
            }
        }
    }

    hwloc_topology_t topology_;
    bool modelled_;
    machine_parts parts_;
};

} // namespace

machine_parts read_this_machine() {
    const topology_ptr topology = new_topology();
    if (hwloc_topology_load(topology.get()) != 0) throw error("hwloc cannot read this machine");
    // hwloc has left out what the cpuset control group forbids; the affinity mask of the thread is up to us.
    const bitmap_ptr allowed(hwloc_bitmap_alloc());
    if (hwloc_get_cpubind(topology.get(), allowed.get(), HWLOC_CPUBIND_THREAD) == 0) {
        hwloc_bitmap_and(allowed.get(), allowed.get(), hwloc_topology_get_topology_cpuset(topology.get()));
        if (hwloc_bitmap_iszero(allowed.get()) == 0 &&
            hwloc_topology_restrict(topology.get(), allowed.get(), HWLOC_RESTRICT_FLAG_REMOVE_CPULESS) != 0) {
            throw error("hwloc cannot restrict the machine to the processors that this thread may run on");
        }
    }
    hwloc_obj_t root = hwloc_get_root_obj(topology.get());
    const std::string host = info_of(root->infos_count, root->infos, "HostName");
    std::string model;
    if (hwloc_obj_t package = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PACKAGE, 0);
        package != nullptr) {
        model = info_of(package->infos_count, package->infos, "CPUModel");
    }
    return reader(topology.get(), false).read(host.empty() ? "this-machine" : host, model);
}

machine load_xml(const std::filesystem::path& file) {
    const std::string text = read_file(file, "machine description", "a readable hwloc XML file");
    const topology_ptr topology = new_topology();
    // The length includes the zero at the end.
    if (hwloc_topology_set_xmlbuffer(topology.get(), text.c_str(), static_cast<int>(text.size()) + 1) != 0 ||
        hwloc_topology_load(topology.get()) != 0) {
        throw error(
            fmt::format("{}: hwloc does not take it as a machine ({})", file.string(), std::strerror(errno)),
            file.string(), "an XML file as `lstopo file.xml` writes it");
    }
    return machine(reader(topology.get(), true).read(file.stem().string(), "hwloc XML " + file.string()));
}

machine load_synthetic(const std::string& spec) {
    const topology_ptr topology = new_topology();
    if (hwloc_topology_set_synthetic(topology.get(), spec.c_str()) != 0 ||
        hwloc_topology_load(topology.get()) != 0) {
        throw error("machine description not understood", fmt::format("'{}'", spec),
                    "a file ending in .toml or .xml, an hwloc synthetic string such as "
                    "'pack:2 [numa] l3:2 core:4 pu:2', or nothing for this machine");
    }
    return machine(reader(topology.get(), true).read(spec, "hwloc synthetic string"));
}

} // namespace weft
