// What every example shares: its options, its report and its exit status.
//
//   0  the answer was checked and is right
//   1  the answer is wrong, or the run failed
//   2  usage: an unknown option, a value that is not allowed, a missing file
#pragma once

#include "cost.hpp"

#include <weft/weft.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace examples {

// A mistake of the caller of the program: exit status 2.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline std::string json_string(std::string_view text) {
    std::string quoted = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
            quoted += c;
        }
    }
    return quoted + '"';
}

// Named values in the order they were added, printed as lines or as one JSON object.
class report {
public:
    template <class Value>
    void add(std::string name, const Value& value) {
        if constexpr (std::is_same_v<Value, bool>) {
            entries_.push_back({std::move(name), value ? "yes" : "no", value ? "true" : "false"});
        } else if constexpr (std::is_floating_point_v<Value>) {
            auto text = fmt::format("{:.6g}", value);
            entries_.push_back({std::move(name), text, std::isfinite(value) ? text : "null"});
        } else if constexpr (std::is_arithmetic_v<Value>) {
            auto text = fmt::format("{}", value);
            entries_.push_back({std::move(name), text, text});
        } else {
            auto text = fmt::format("{}", value);
            entries_.push_back({std::move(name), text, json_string(text)});
        }
    }

    void add_stats(const weft::run_stats& stats) {
        add("seconds", stats.seconds);
        add("tasks", stats.tasks);
        add("steals", stats.steals);
    }

    // The end of a run that computed no answer: --costs-only.
    bool print_costs(const weft::run_stats& stats, bool json) {
        add_stats(stats);
        print(json);
        return true;
    }

    void print(bool json) const {
        std::string out;
        for (const auto& e : entries_) {
            if (json) {
                out += fmt::format("{}{}: {}", out.empty() ? "{" : ", ", json_string(e.name), e.json);
            } else {
                out += fmt::format("{:<14} {}\n", e.name, e.text);
            }
        }
        fmt::print("{}{}", out, json ? "}\n" : "");
    }

private:
    struct entry {
        std::string name, text, json;
    };
    std::vector<entry> entries_;
};

// Options, runtime and exit status of one example:
//
//   program p("what it does", "a call worth trying");
//   p.options().add_option("--n", n, "size")->capture_default_str();
//   return p.main(argc, argv, [&] { ... return answer_is_right; });
class program {
public:
    program(const std::string& description, const std::string& example_call) : app_(description) {
        app_.add_option("--workers", workers_, "number of workers (default: the runtime's own choice)")
            ->check(CLI::Range(1U, 65536U));
        app_.add_option("--policy", policy_, "scheduling policy, as in WEFT_POLICY");
        app_.add_option("--seed", seed_, "seed of the input, where it is random, and of the scheduler");
        app_.add_flag("--json", json_, "print one JSON object");
        app_.footer("Example: " + example_call);
    }

    CLI::App& options() { return app_; }

    // For graphs whose tasks declare all that they touch.
    void add_check_accesses() {
        app_.add_flag("--check-accesses", check_accesses_, "compare what tasks touch with what they declare");
    }
    weft::graph_options graph_options() const { return {.check_accesses = check_accesses_}; }

    // For programs whose tasks do not depend on the values that they compute (kernels_compute).
    void add_costs_only() {
        app_.add_flag("--costs-only", costs_only_,
                      "in virtual time: declare what tasks touch and cost, compute nothing, check no answer");
    }
    bool costs_only() const { return costs_only_; }

    // For tasks that need resources: this file says what there is, unless the caller names another.
    void add_resources(const std::string& file) {
        if (!std::getenv("WEFT_RESOURCES")) resources_ = file;
        app_.add_option("--resources", resources_, "file of what tasks may need, as in WEFT_RESOURCES")
            ->capture_default_str();
    }

    bool json() const { return json_; }
    std::uint64_t seed() const { return seed_.value_or(1); }
    std::optional<unsigned> workers() const { return workers_; }
    const std::string& policy() const { return policy_; }

    // Only what the caller named is set: the rest is left to the environment.
    weft::runtime_options runtime_options() const {
        weft::runtime_options chosen;
        if (workers_) chosen.workers = static_cast<decltype(chosen.workers)>(*workers_);
        if (!policy_.empty()) chosen.policy = policy_;
        if (seed_) chosen.seed = static_cast<decltype(chosen.seed)>(*seed_);
        chosen.resources = resources_;
        if (costs_only_) chosen.engine = "model"; // on real threads it would measure nothing
        return chosen;
    }

    template <class Body>
    int main(int argc, char** argv, Body&& body) {
        try {
            app_.parse(argc, argv);
        } catch (const CLI::ParseError& e) { return app_.exit(e) == 0 ? 0 : 2; }
        kernels_compute = !costs_only_;
        try {
            bool right = body();
            if (!right) fmt::print(stderr, "the answer is wrong\n");
            return right ? 0 : 1;
        } catch (const usage_error& e) {
            fmt::print(stderr, "error: {}\n", e.what());
            return 2;
        } catch (const std::exception& e) {
            fmt::print(stderr, "error: {}\n", e.what());
            return 1;
        }
    }

    // A runtime as asked for; a policy or worker count that it refuses is a usage error.
    weft::runtime make_runtime() const { return make_runtime(runtime_options()); }
    static weft::runtime make_runtime(const weft::runtime_options& chosen) {
        try {
            return weft::runtime(chosen);
        } catch (const weft::error& e) { throw usage_error(e.what()); }
    }

private:
    CLI::App app_;
    std::optional<unsigned> workers_;
    std::string policy_, resources_;
    std::optional<std::uint64_t> seed_;
    bool json_ = false, check_accesses_ = false, costs_only_ = false;
};

inline void add_tile_options(program& p, std::size_t& n, std::size_t& tile) {
    p.options()
        .add_option("--n", n, "rows and columns")
        ->check(CLI::Range(1U, 16384U))
        ->capture_default_str();
    p.options()
        .add_option("--tile", tile, "rows and columns of a tile")
        ->check(CLI::Range(1U, 16384U))
        ->capture_default_str();
}

} // namespace examples
