// One sample of one benchmark: the process measures once and prints one JSON object with named values.
//
//   0  measured, and every answer was right
//   1  a wrong answer, or the run failed
//   2  usage
#pragma once

#include "both_cores.hpp"
#include "neighbours.hpp"

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace bench {

struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The arguments of a sample are `key=value`; those that are not given have the default at the place of use.
class arguments {
public:
    arguments(int argc, char** argv) {
        for (int i = 1; i < argc; ++i) {
            const std::string_view word = argv[i];
            const auto eq = word.find('=');
            if (eq == std::string_view::npos) throw usage_error(fmt::format("'{}' is not key=value", word));
            given_.emplace(word.substr(0, eq), word.substr(eq + 1));
        }
    }
    std::string text(const std::string& key, const std::string& otherwise) const {
        const auto at = given_.find(key);
        return at == given_.end() ? otherwise : at->second;
    }
    int number(const std::string& key, int otherwise) const {
        const auto at = given_.find(key);
        if (at == given_.end()) return otherwise;
        char* end = nullptr;
        const long n = std::strtol(at->second.c_str(), &end, 10);
        if (*end != '\0') throw usage_error(fmt::format("{}={}: not a number", key, at->second));
        return static_cast<int>(n);
    }

private:
    std::map<std::string, std::string> given_;
};

class sample {
public:
    void add(const std::string& name, double value) { put(name, fmt::format("{:.6g}", value)); }
    void add(const std::string& name, const std::vector<double>& values) {
        put(name, fmt::format("[{:.6g}]", fmt::join(values, ", ")));
    }
    void add_text(const std::string& name, const std::string& text) {
        put(name, fmt::format("\"{}\"", text)); // our own words, nothing to escape
    }
    void check(bool right) { right_ = right_ && right; }

    /// Measures only while two cores are there, and are this program's: probes before and after, and looks at
    /// what others took meanwhile. A sample that had less is marked, and the runner discards it. If they are
    /// not there at the beginning, `body` runs all the same, or not at all if `only_then`.
    template <class Body>
    void with_both_cores(Body&& body, bool only_then = false) {
        const both_cores cores;
        if (cores.count() < 2) return put("cores", "1");
        constexpr int attempts = 8;
        constexpr double allowed = 0.08; // of one core; the kernel counts in ticks of 10 ms
        int failed = 0;
        while (failed < attempts && !(cores.probe() && neighbours::are_quiet())) ++failed;
        const bool there = failed < attempts;
        if (only_then && !there) {
            put("skipped", "true");
            put("failed_probes", fmt::format("{}", failed));
            return put("both_cores", "false");
        }
        const neighbours others;
        body();
        const double share = others.share();
        const bool still_there = cores.probe();
        failed += !still_there;
        put("failed_probes", fmt::format("{}", failed));
        add("neighbours", share);
        put("both_cores", there && still_there && share <= allowed ? "true" : "false");
    }

    int print() const {
        fmt::print("{{\"right\": {}{}}}\n", right_, text_);
        return right_ ? 0 : 1;
    }

private:
    void put(const std::string& name, const std::string& json) {
        text_ += fmt::format(", \"{}\": {}", name, json);
    }
    std::string text_;
    bool right_ = true;
};

/// main() of a benchmark: `measure(arguments, sample)`.
template <class Measure>
int take_sample(int argc, char** argv, Measure&& measure) {
    try {
        const arguments given(argc, argv);
        sample s;
        measure(given, s);
        return s.print();
    } catch (const usage_error& e) {
        fmt::print(stderr, "{}: {}\n", argv[0], e.what());
        return 2;
    } catch (const std::exception& e) {
        fmt::print(stderr, "{}: {}\n", argv[0], e.what());
        return 1;
    }
}

} // namespace bench
