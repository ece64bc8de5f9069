#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "engine/support.hpp"

/// Inputs that are drawn at random, in large numbers.
namespace weft::test {

/// Says which input it was if this process crashes, or spends more than `seconds` on one input. A failure of
/// an expectation says it by SCOPED_TRACE; a signal leaves no other trace.
class input_watch {
public:
    static constexpr unsigned seconds = 60;

    explicit input_watch(const char* of) {
        current().of = of;
        for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
            struct sigaction a{};
            a.sa_handler = report;
            a.sa_flags = SA_RESETHAND;
            sigaction(s, &a, nullptr);
        }
    }
    ~input_watch() { alarm(0); }

    void begin(std::uint64_t input) {
        current().input = input;
        alarm(seconds);
    }

private:
    struct place {
        const char* of = "";
        volatile std::uint64_t input = 0;
    };
    static place& current() {
        static place p;
        return p;
    }
    static void write_text(const char* text) {
        std::size_t n = 0;
        while (text[n]) ++n;
        [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, text, n);
    }
    static void write_number(std::uint64_t n) {
        std::array<char, 24> text{};
        std::size_t at = text.size() - 1;
        do text[--at] = static_cast<char>('0' + n % 10);
        while (n /= 10);
        write_text(&text[at]);
    }
    static void report(int signal) {
        write_text(signal == SIGALRM ? "an input takes too long: " : "an input crashes the process: ");
        write_text(current().of);
        write_text(", input ");
        write_number(current().input);
        write_text(", WEFT_TEST_SEED=");
        write_number(seed);
        write_text("\n");
        if (signal == SIGALRM) _exit(1);
        raise(signal); // SA_RESETHAND
    }
};

using generator = std::mt19937_64;

inline std::uint64_t below(generator& random, std::uint64_t n) { return random() % n; }

/// The generator of one input: each input can be drawn alone.
inline generator generator_of(std::uint64_t input) {
    std::seed_seq words{seed, seed >> 32, input, input >> 32};
    return generator(words);
}

/// Changes texts of key-value files as people and bad disks do.
class text_mutator {
public:
    explicit text_mutator(std::vector<std::string> corpus) : corpus_(std::move(corpus)) {}

    std::string draw(generator& random) const {
        std::vector<std::string> lines = lines_of(corpus_[below(random, corpus_.size())]);
        for (std::uint64_t n = 1 + below(random, 4); n > 0 && !lines.empty(); --n) mutate(lines, random);
        std::string text;
        for (const std::string& l : lines) text += l + "\n";
        if (below(random, 16) == 0 && !text.empty())
            text[below(random, text.size())] = static_cast<char>(below(random, 256));
        if (below(random, 32) == 0) text.resize(below(random, text.size() + 1));
        return text;
    }

private:
    static std::vector<std::string> lines_of(const std::string& text) {
        std::vector<std::string> lines(1);
        for (const char c : text)
            if (c == '\n')
                lines.emplace_back();
            else
                lines.back() += c;
        return lines;
    }

    void mutate(std::vector<std::string>& lines, generator& random) const {
        const std::size_t at = below(random, lines.size());
        switch (below(random, 10)) {
        case 0: lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at)); return;
        case 1:
            lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), lines[below(random, lines.size())]);
            return;
        case 2: std::swap(lines[at], lines[below(random, lines.size())]); return;
        case 3: {
            const auto other = lines_of(corpus_[below(random, corpus_.size())]);
            lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), other[below(random, other.size())]);
            return;
        }
        default: replace_value(lines, random); return;
        }
    }

    /// Another value for a key, in some line from a random one on.
    static void replace_value(std::vector<std::string>& lines, generator& random) {
        static const std::vector<std::string> others = {"0",
                                                        "-1",
                                                        "1",
                                                        "2",
                                                        "3",
                                                        "7",
                                                        "64",
                                                        "1024",
                                                        "1025",
                                                        "65536",
                                                        "65537",
                                                        "2147483647",
                                                        "2147483648",
                                                        "9223372036854775807",
                                                        "-9223372036854775808",
                                                        "9223372036854775808",
                                                        "1e-320",
                                                        "5e-324",
                                                        "1e-7",
                                                        "1e-6",
                                                        "0.5",
                                                        "0.999999999",
                                                        "1.0000001",
                                                        "1e6",
                                                        "1e9",
                                                        "1e12",
                                                        "1.7e308",
                                                        "inf",
                                                        "-inf",
                                                        "nan",
                                                        "true",
                                                        "''",
                                                        "'core'",
                                                        "'domain'",
                                                        "'machine'",
                                                        "'x'",
                                                        "\"1 TiB\"",
                                                        "\"1024 TiB\"",
                                                        "\"1 B\"",
                                                        "\"-1 KiB\"",
                                                        "\"1e3 MB\"",
                                                        "[]",
                                                        "[0]",
                                                        "[1, 2]",
                                                        "[0, 0]",
                                                        "[[10]]",
                                                        "[[10, 20], [20, 10]]",
                                                        "[[0, nan], [1, 2]]",
                                                        "{}",
                                                        "1979-05-27",
                                                        "{ class = 'x', count = 3 }",
                                                        "[{ class = 'big', count = 65536 }]"};
        for (std::size_t tries = 0; tries < lines.size(); ++tries) {
            std::string& l = lines[below(random, lines.size())];
            const auto sign = l.find('=');
            if (sign == l.npos) continue;
            if (below(random, 4) == 0) { // a digit of the value
                for (std::size_t i = sign; i < l.size(); ++i)
                    if (l[i] >= '0' && l[i] <= '9' && below(random, 2) == 0) {
                        l[i] = static_cast<char>('0' + below(random, 10));
                        return;
                    }
            }
            l = l.substr(0, sign + 1) + " " + others[below(random, others.size())];
            return;
        }
    }

    std::vector<std::string> corpus_;
};

} // namespace weft::test
