#include "merge_sort.hpp"

#include "../common/example.hpp"
#include "../common/sorting.hpp"

#include <string>

namespace {

// The place where a key was before sorting shows whether equal keys kept their order.
struct record {
    std::uint64_t key, place;
};

bool key_less(const record& a, const record& b) { return a.key < b.key; }
bool in_order(const record& a, const record& b) { return a.key != b.key ? a.key < b.key : a.place < b.place; }

} // namespace

int main(int argc, char** argv) {
    std::size_t n = 5'000'000, leaf = examples::merge_sort_leaf;
    std::string order = "random";
    examples::program program("Stable merge sort with a parallel merge.",
                              "merge_sort --n 20000000 --order few");
    auto& options = program.options();
    options.add_option("--n", n, "number of records")->check(CLI::Range(0U, 1U << 30))->capture_default_str();
    options.add_option("--leaf", leaf, "records sorted or merged by one task")
        ->check(CLI::Range(2U, 1U << 30))
        ->capture_default_str();
    options.add_option("--order", order, "order of the keys")
        ->check(CLI::IsMember(
            std::vector<std::string>(std::begin(examples::key_orders), std::end(examples::key_orders))))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        auto rt = program.make_runtime();
        std::vector<std::uint64_t> keys;
        std::vector<record> records(n);
        rt.run([&] {
            keys = examples::make_keys(n, order, program.seed());
            weft::touch(records.data(), n * sizeof(record), weft::access::write);
            for (std::size_t i = 0; i < n; ++i) records[i] = {keys[i], i};
        });
        rt.run([&] { examples::merge_sort(records.data(), n, key_less, leaf); });

        // Places that are each there once, with the key that was there, make the same multiset.
        bool sorted = std::is_sorted(records.begin(), records.end(), in_order);
        std::vector<bool> seen(n);
        bool same_records = true;
        for (const auto& r : records) {
            same_records = same_records && r.place < n && !seen[r.place] && keys[r.place] == r.key;
            if (r.place < n) seen[r.place] = true;
        }
        examples::report report;
        report.add("n", n);
        report.add("order", order);
        report.add("sorted, stable", sorted);
        report.add("same records", same_records);
        report.add_stats(rt.stats());
        report.print(program.json());
        return sorted && same_records;
    });
}
