// A task with a frame that is larger than the stack and its guard together. It reaches the guard only because a program of the
// installed library is built with -fstack-clash-protection; otherwise it would write beyond it.
#include <weft/weft.hpp>

#include <cstddef>

namespace {

[[gnu::noinline]] char last_of_many() {
    volatile char many[std::size_t{12} << 20];
    many[0] = 1;
    return many[0];
}

} // namespace

int main() {
    weft::task_group g;
    char last = 0;
    g.run([&] { last = last_of_many(); });
    g.wait();
    return last;
}
