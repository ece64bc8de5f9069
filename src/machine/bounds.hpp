#pragma once

// What the numbers of a machine may be, wherever the machine is described: machines/README.md has the table.
// Within these bounds every duration that a model forms of one figure and of data that fit into an address
// space is a number of nanoseconds that its clock can count, and no rate is so small that it is lost in a sum.
namespace weft {

// Bounds of a number, both included except that `above_zero` excludes 0.
struct number_range {
    double least = 0;
    double most = 0;
    bool above_zero = false;

    bool contains(double value) const { // false for NaN
        return (above_zero ? value > 0 : value >= least) && value <= most;
    }
};

inline constexpr int most_ranks = 65536;
inline constexpr int most_nodes = 1024;   // memory nodes; models keep a figure for each pair
inline constexpr int most_domains = 1024; // likewise
inline constexpr number_range any_speed{1e-6, 1e6};
inline constexpr number_range any_part{0, 1};
inline constexpr number_range any_mhz{1e-3, 1e6};
inline constexpr number_range any_latency_ns{0, 1e9};
inline constexpr number_range any_load_ns{1e-3, 1e9};
inline constexpr number_range any_gbps{1e-6, 1e9};
inline constexpr number_range any_distance{10, 1e4};
inline constexpr number_range any_charge_ns{0, 1e9};
inline constexpr number_range any_line_overhead{0, 1e6}; // bytes
inline constexpr number_range any_loads{1e-3, 1e6};
inline constexpr long long most_block_bytes = 1LL << 30;

} // namespace weft
