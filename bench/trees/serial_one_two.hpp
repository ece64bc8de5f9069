// A serial program against the same with tasks, at one worker and at two, one after the other.
#pragma once

#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

namespace bench {

/// Adds `one`, the time with one worker over the serial one, and `two`, the serial time over that with two.
template <class Answer, class Serial, class Parallel>
void serial_one_two(sample& s, const Answer& expected, Serial&& serial, Parallel&& parallel) {
    const auto timed = [&](auto&& body) {
        Answer answer{};
        const double ns = time_ns([&] { answer = body(); });
        s.check(answer == expected);
        return ns;
    };
    s.with_both_cores([&] {
        runtime_pair rts;
        const double alone = timed(serial);
        s.add("one", timed([&] { return parallel(rts.one); }) / alone);
        s.add("two", alone / timed([&] { return parallel(rts.two); }));
    });
}

} // namespace bench
