// Batch programs: the main task launches a batch of independent tasks of different sizes, waits for all of them, and launches
// the next one (Chen & Guo 2017, 5.7.1.2 and table 5.7). What a batch works on is a `workload`.
#pragma once

#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>

namespace examples {

class workload {
public:
    virtual ~workload() = default;

    // Makes the tasks of that batch, and gives their number.
    virtual std::size_t begin_batch(int number) = 0;
    // What is known of the i-th task: its class, its relative work, its bytes.
    virtual weft::hints hint(std::size_t i) const = 0;
    // Tasks of a batch depend on nothing of each other.
    virtual void run(std::size_t i) = 0;
    // A digest of all results of the batch.
    virtual std::uint64_t end_batch() = 0;
};

// BEGIN-EXAMPLE batch
inline void run_batch(workload& work, std::size_t tasks) {
    weft::task_group batch;
    for (std::size_t i = 0; i < tasks; ++i) batch.run([&work, i] { work.run(i); }, work.hint(i));
    batch.wait();
}
// END-EXAMPLE batch

} // namespace examples
