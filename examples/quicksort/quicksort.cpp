#include "quicksort.hpp"

#include "../common/example.hpp"
#include "../common/sorting.hpp"

#include <memory>
#include <string>

int main(int argc, char** argv) {
    std::size_t n = 10'000'000, leaf = examples::quicksort_leaf;
    std::string order = "random";
    bool parallel_partition = false;
    examples::program program("Quicksort of 64-bit keys.", "quicksort --n 50000000 --order few");
    auto& options = program.options();
    options.add_option("--n", n, "number of keys")->check(CLI::Range(0U, 1U << 30))->capture_default_str();
    options.add_option("--leaf", leaf, "keys left to std::sort")
        ->check(CLI::Range(2U, 1U << 30))
        ->capture_default_str();
    options.add_option("--order", order, "order of the keys")
        ->check(CLI::IsMember(
            std::vector<std::string>(std::begin(examples::key_orders), std::end(examples::key_orders))))
        ->capture_default_str();
    options.add_flag("--parallel-partition", parallel_partition,
                     "partition by tasks too, from one array to another and back");

    return program.main(argc, argv, [&] {
        auto rt = program.make_runtime();
        std::vector<std::uint64_t> keys;
        rt.run([&] { keys = examples::make_keys(n, order, program.seed()); });
        auto before = examples::hash_multiset(keys);
        if (parallel_partition) {
            const auto spare = std::make_unique_for_overwrite<std::uint64_t[]>(n);
            rt.run([&] { examples::partitioned_sort::sort(keys.data(), spare.get(), n, leaf); });
        } else {
            rt.run([&] { examples::quicksort(keys.data(), keys.data() + keys.size(), leaf); });
        }

        bool sorted = std::is_sorted(keys.begin(), keys.end());
        bool same_keys = examples::hash_multiset(keys) == before;
        examples::report report;
        report.add("n", n);
        report.add("order", order);
        report.add("sorted", sorted);
        report.add("same keys", same_keys);
        report.add_stats(rt.stats());
        report.print(program.json());
        return sorted && same_keys;
    });
}
