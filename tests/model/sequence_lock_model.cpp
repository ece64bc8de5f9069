// Model check of the sequence lock: one writer, and readers that never wait. What a reader has copied as whole is one
// publication (K1, K2 of share/README.md), also when a writer died inside and another one went on (K3 of share/README.md).
#include <cstdint>
#include <memory>
#include <span>

#include "relacy_run.hpp"

#include "share/sequence_lock.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;
using lock = share::sequence_lock<sync>;

constexpr const char* starts_even = "the next writer takes the number as it is";

struct file {
    static constexpr int count = 2;

    std::uint64_t number() { return sequence.load(order::relaxed); }
    void set_number(std::uint64_t n) { sequence.store(n, order::relaxed); }
    bool read(std::span<std::uint64_t> to) {
        for (int i = 0; i < count; ++i) to[static_cast<std::size_t>(i)] = words[i].load(order::relaxed);
        return true;
    }
    void write(std::span<const std::uint64_t> from) {
        for (int i = 0; i < count; ++i) words[i].store(from[static_cast<std::size_t>(i)], order::relaxed);
    }

    sync::atomic<std::uint64_t> sequence{0};
    sync::atomic<std::uint64_t> words[count]{{0}, {0}};
};

/// A medium on which the writer dies after its first word.
struct dying : file {
    explicit dying(file& on) : of(on) {}
    std::uint64_t number() { return of.number(); }
    void set_number(std::uint64_t n) {
        if (n % 2 != 0) of.set_number(n);
    }
    void write(std::span<const std::uint64_t> from) { of.words[0].store(from[0], order::relaxed); }
    file& of;
};

void publish(file& to, std::uint64_t value) {
    const std::uint64_t words[file::count] = {value, value};
    lock::write(to, words);
}

/// The publication that was found, or the last one found.
std::uint64_t look(file& at, std::uint64_t last) {
    std::uint64_t words[file::count] = {};
    if (lock::read(at, words, 2) != share::copied::whole) return last;
    RL_ASSERT(words[0] == words[1]);
    RL_ASSERT(words[0] >= last);
    return words[0];
}

template <class Derived, int Threads>
struct with_file : rl::test_suite<Derived, Threads> {
    std::unique_ptr<file> all;
    void before() { all = std::make_unique<file>(); }
    void after() { all.reset(); }
};

/// Thread 0 writes, the others read.
struct one_writer : with_file<one_writer, 3> {
    void thread(unsigned me) {
        std::uint64_t last = 0;
        for (std::uint64_t i = 1; i <= 2; ++i)
            if (me == 0)
                publish(*all, i);
            else
                last = look(*all, last);
    }
};

/// The writer dies inside, and the next one goes on from the odd number that it has left.
struct writer_dies : with_file<writer_dies, 2> {
    void thread(unsigned me) {
        if (me == 0) {
            publish(*all, 1);
            dying last_words(*all);
            const std::uint64_t words[file::count] = {2, 2};
            lock::write(last_words, words);
            if (made(starts_even)) all->set_number(all->number() + 1); // what it has left is taken for whole
            publish(*all, 3);
            return;
        }
        std::uint64_t last = 0;
        for (int i = 0; i < 3; ++i) last = look(*all, last);
    }
};

constexpr scenario scenarios[] = {
    {"one_writer, bounded", 0, search<one_writer>},
    {"one_writer", 100000, search<one_writer>},
    {"writer_dies, bounded", 0, search<writer_dies>},
    {"writer_dies", 100000, search<writer_dies>},
};

constexpr mutant mutants[] = {
    {"words written before the odd number", operation::fence, order::release, words::all, "::announce(",
     mistake::omit},
    {"even number before the words", operation::fence, order::release, words::all, "::publish(",
     mistake::omit},
    {"words read before the number", operation::fence, order::acquire, words::all, "::see_words_of_number(",
     mistake::omit},
    {"number read again before the words", operation::fence, order::acquire, words::all,
     "::see_number_of_words(", mistake::omit},
    {starts_even, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
