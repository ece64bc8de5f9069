#include "decision_tree.hpp"

#include "flights.hpp"

#include "../common/example.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using examples::decision_tree;

struct settings {
    std::string data;
    bool departure_delay = false, check = false, demo = false, print_tree = false;
    std::size_t folds = 10, years = 1;
    int repetitions = 3;
    examples::tree_limits limits{.max_depth = 30, .min_leaf_rows = 20};
};

std::string find_data(const std::string& given) {
    if (!given.empty()) return given;
    std::string usual = "build/data/flights.csv";
    if (std::filesystem::exists(usual)) return usual;
    throw examples::usage_error(
        "no data: " + usual +
        " does not exist below the current folder; `make demo` fetches it, or name the file "
        "with --data (flights.csv of the data set nycflights13)");
}

struct input {
    examples::table flights;
    examples::data_split rows;
    double baseline = 0;
};

input read_input(const settings& s, std::uint64_t seed) {
    try {
        input in;
        in.flights =
            examples::repeated(examples::read_flights(find_data(s.data), s.departure_delay), s.years);
        in.rows = examples::split_rows(in.flights, seed);
        if (in.rows.training.empty() || in.rows.test.empty())
            throw examples::usage_error("too few flights to train and test");
        in.baseline = examples::majority_accuracy(in.flights, in.rows);
        return in;
    } catch (const examples::csv_error& e) { throw examples::usage_error(e.what()); }
}

struct training {
    decision_tree tree;
    double accuracy = 0;
    weft::run_stats stats;
};

training train(const input& in, const settings& s, std::uint64_t seed, const weft::runtime_options& options) {
    auto rt = examples::program::make_runtime(options);
    training result;
    rt.run([&] { result.tree = examples::train(in.flights, in.rows.training, s.folds, seed, s.limits); });
    result.stats = rt.stats();
    rt.run([&] { result.accuracy = examples::accuracy(result.tree, in.flights, in.rows.test); });
    return result;
}

void print_tree(const decision_tree& tree, const examples::table& flights, std::size_t index, int depth,
                int levels) {
    const auto& node = tree[index];
    std::string indent(2 * static_cast<std::size_t>(depth), ' ');
    double share = 100.0 * node.positives / (node.negatives + node.positives);
    if (node.leaf() || depth == levels) {
        fmt::print("{}{} ({:.1f}% of {} late)\n", indent, node.majority() ? "late" : "on time", share,
                   node.negatives + node.positives);
        return;
    }
    const auto& attribute = flights.attributes[node.attribute];
    fmt::print("{}{} <= {}? ({:.1f}% late)\n", indent, attribute.name, attribute.levels[node.rank], share);
    print_tree(tree, flights, static_cast<std::size_t>(node.left), depth + 1, levels);
    print_tree(tree, flights, static_cast<std::size_t>(node.right), depth + 1, levels);
}

bool accepted(bool same_trees, double accuracy, double baseline) {
    if (!same_trees) fmt::print(stderr, "the trees differ\n");
    if (accuracy <= baseline) {
        fmt::print(stderr, "the tree is no better than always answering the more frequent class\n");
    }
    return same_trees && accuracy > baseline;
}

bool train_once(const examples::program& program, const settings& s) {
    input in = read_input(s, program.seed());
    training result = train(in, s, program.seed(), program.runtime_options());

    examples::report report;
    report.add("flights", in.flights.rows());
    report.add("nodes", result.tree.size());
    report.add("depth", examples::tree_depth(result.tree));
    report.add("accuracy", result.accuracy);
    report.add("baseline", in.baseline);
    report.add("tree", fmt::format("{:016x}", examples::tree_hash(result.tree)));
    bool same = true;
    if (s.check) {
        same = result.tree == train(in, s, program.seed(), {.workers = 1, .policy = "serial"}).tree;
        report.add("same as serial", same);
    }
    report.add_stats(result.stats);
    report.print(program.json());
    if (s.print_tree && !program.json()) print_tree(result.tree, in.flights, 0, 0, 4);
    return accepted(same, result.accuracy, in.baseline);
}

// One line of the demo's table.
struct measurement {
    weft::runtime_options options;
    std::vector<training> runs; // the fastest first
    bool identical = true;

    const training& median() const { return runs[runs.size() / 2]; }
};

std::vector<measurement> measure(const examples::program& program, const settings& s, const input& in) {
    std::vector<std::string> policies{"serial", "share", "steal"};
    if (!program.policy().empty() &&
        std::find(policies.begin(), policies.end(), program.policy()) == policies.end()) {
        policies.push_back(program.policy());
    }
    std::vector<measurement> all;
    for (const auto& policy : policies) {
        measurement m;
        m.options = program.runtime_options();
        m.options.policy = policy;
        if (policy == "serial") m.options.workers = 1;
        all.push_back(std::move(m));
    }
    decision_tree first;
    bool progress = isatty(STDERR_FILENO) != 0;
    // Interleaved, so that a slow minute of the machine is shared by all.
    for (int repetition = 0; repetition < s.repetitions; ++repetition) {
        for (auto& m : all) {
            if (progress)
                fmt::print(stderr, "\r\033[Krun {} of {}: {}", repetition + 1, s.repetitions,
                           m.options.policy);
            training result = train(in, s, program.seed(), m.options);
            if (first.empty()) first = result.tree;
            m.identical = m.identical && result.tree == first;
            m.runs.push_back(std::move(result));
        }
    }
    if (progress) fmt::print(stderr, "\r\033[K");
    for (auto& m : all) {
        std::sort(m.runs.begin(), m.runs.end(),
                  [](const training& a, const training& b) { return a.stats.seconds < b.stats.seconds; });
    }
    return all;
}

void print_json(const std::vector<measurement>& all, const input& in) {
    double serial = all.front().median().stats.seconds;
    std::string lines;
    for (const auto& m : all) {
        const training& t = m.median();
        lines += fmt::format("{}{{\"policy\": {}, \"workers\": {}, \"seconds\": {:.6f}, \"speedup\": {:.4f}, "
                             "\"tasks\": {}, \"steals\": {}, "
                             "\"accuracy\": {:.6f}, \"identical\": {}}}",
                             lines.empty() ? "" : ", ", examples::json_string(m.options.policy),
                             t.stats.workers, t.stats.seconds, serial / t.stats.seconds, t.stats.tasks,
                             t.stats.steals, t.accuracy, m.identical);
    }
    fmt::print("{{\"flights\": {}, \"baseline\": {:.6f}, \"runs\": [{}]}}\n", in.flights.rows(), in.baseline,
               lines);
}

void print_table(const std::vector<measurement>& all, const input& in, int repetitions) {
    bool colour = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
    auto paint = [&](const char* code, const std::string& text) {
        return colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
    };
    const auto& tree = all.front().median().tree;
    fmt::print("Will a flight arrive more than {} minutes late? {} flights, tree of {} nodes and depth {}.\n",
               examples::late_minutes, in.flights.rows(), tree.size(), examples::tree_depth(tree));
    fmt::print("Median of {} runs. Always answering the more frequent class would be right for {:.2f}%.\n\n",
               repetitions, 100 * in.baseline);
    fmt::print("{}\n", paint("1", fmt::format("{:<20} {:>7} {:>10} {:>8} {:>9} {:>8} {:>9} {:>10}", "policy",
                                              "workers", "time", "speed-up", "tasks", "steals", "accuracy",
                                              "same tree")));
    double serial = all.front().median().stats.seconds;
    for (const auto& m : all) {
        const training& t = m.median();
        auto same = paint(m.identical ? "32" : "31", fmt::format("{:>10}", m.identical ? "yes" : "no"));
        fmt::print("{:<20} {:>7} {:>8.3f} s {:>8.2f} {:>9} {:>8} {:>8.2f}% {}\n", m.options.policy,
                   t.stats.workers, t.stats.seconds, serial / t.stats.seconds, t.stats.tasks, t.stats.steals,
                   100 * t.accuracy, same);
    }
}

bool run_demo(const examples::program& program, const settings& s) {
    input in = read_input(s, program.seed());
    auto all = measure(program, s, in);
    if (program.json()) {
        print_json(all, in);
    } else {
        print_table(all, in, s.repetitions);
    }
    bool identical = std::all_of(all.begin(), all.end(), [](const measurement& m) { return m.identical; });
    return accepted(identical, all.front().median().accuracy, in.baseline);
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    examples::program program("A decision tree for the flights that left New York City in 2013: which arrive "
                              "more than 15 minutes late?",
                              "decision_tree --data flights.csv --policy steal --workers 2");
    auto& options = program.options();
    options.add_option("--data", s.data,
                       "flights.csv of the data set nycflights13 (default: build/data/flights.csv)");
    options.add_flag("--demo", s.demo, "train under serial, share and steal (and --policy), print one table");
    options.add_option("--repetitions", s.repetitions, "runs of each policy in the demo")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    options.add_flag("--departure-delay", s.departure_delay, "let the tree know how late the flight left");
    options.add_option("--years", s.years, "the year so many times over, for data beyond the caches")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    options.add_option("--depth", s.limits.max_depth, "largest depth")
        ->check(CLI::Range(1, 200))
        ->capture_default_str();
    options.add_option("--min-leaf", s.limits.min_leaf_rows, "smallest number of flights in a leaf")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    options
        .add_option("--folds", s.folds,
                    "folds of the cross-validation that chooses the depth; 0: take the largest")
        ->check(CLI::Range(0U, 1000U))
        ->capture_default_str();
    options
        .add_option("--task-rows", s.limits.task_rows, "nodes with fewer flights are not divided into tasks")
        ->check(CLI::Range(1U, 1U << 30))
        ->capture_default_str();
    options.add_option("--block-rows", s.limits.block_rows, "flights counted by one task")
        ->check(CLI::Range(1U, 1U << 30))
        ->capture_default_str();
    options.add_flag("--move-rows", s.limits.move_rows,
                     "the rows of a node move side by side, instead of their numbers");
    options.add_flag("--check", s.check, "train a second time under serial and compare the trees");
    options.add_flag("--print-tree", s.print_tree, "print the first levels of the tree");

    return program.main(argc, argv, [&] { return s.demo ? run_demo(program, s) : train_once(program, s); });
}
