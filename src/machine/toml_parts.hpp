#pragma once

#include "machine/bounds.hpp"
#include "machine/parts.hpp"
#include "machine/toml_section.hpp"

#include <vector>

// The chapters of a machine file that follow its cores and memory nodes: each function reads one from the
// root table and adds it to parts that already have all cores, core classes and memory nodes.
namespace weft {

void read_toml_caches(const toml_section& root, machine_parts& parts);
void read_toml_distances(const toml_section& root, machine_parts& parts);
void read_toml_steal(const toml_section& root, machine_parts& parts);
void read_toml_devices(const toml_section& root, machine_parts& parts);
void read_toml_disks(const toml_section& root, machine_parts& parts);
void read_toml_cluster(const toml_section& root, machine_parts& parts);
void read_toml_charges(const toml_section& root, machine_parts& parts);
void read_toml_preemption(const toml_section& root, machine_parts& parts);
void read_toml_time_sharing(const toml_section& root, machine_parts& parts);
void read_toml_exchange(const toml_section& root, machine_parts& parts);
void read_toml_model(const toml_section& root, machine_parts& parts);

// The index of the class named by the key 'class', which may be left out where there is only one.
int class_of(const toml_section& section, const std::vector<core_class>& classes);

} // namespace weft
