// Model check of the ring: what was pushed arrives once, in order and whole (I1, I2), and a slot is written
// again only when its value has been read (I3).
#include <memory>

#include "relacy_run.hpp"

#include "queue/spsc_ring.hpp"

namespace weft::model {
namespace {

using ring = queue::spsc_ring<int, relacy_sync>;

template <class Derived, int Values>
struct ring_test : rl::test_suite<Derived, 2> {
    struct state {
        ring::slot slots[2];
        ring all{slots, 2};
    };
    std::unique_ptr<state> s;
    int next = 0, pushed = 0;

    void before() {
        s = std::make_unique<state>();
        next = pushed = 0;
    }
    void write(int looks) {
        for (int look = 0; look < looks && pushed < Values; ++look) {
            if (s->all.room() > 0)
                s->all.push(pushed++);
            else
                relacy_sync::pause();
        }
    }
    void read(int looks, int at_once) {
        for (int look = 0; look < looks; ++look) {
            int left = at_once;
            s->all.consume([&](int v) {
                if (left-- == 0) return false;
                RL_ASSERT(v == next);
                ++next;
                return true;
            });
            relacy_sync::pause();
        }
    }
    void after() {
        read(1, Values);
        RL_ASSERT(next == pushed);
        s.reset();
    }
};

struct reads_all : ring_test<reads_all, 5> {
    void thread(unsigned me) { me == 0 ? write(8) : read(3, 5); }
};
struct leaves_some : ring_test<leaves_some, 4> {
    void thread(unsigned me) { me == 0 ? write(7) : read(4, 1); }
};

constexpr scenario scenarios[] = {
    {"reads_all, bounded", 0, search<reads_all>},
    {"reads_all", 20000, search<reads_all>},
    {"leaves_some", 20000, search<leaves_some>},
};

constexpr mutant mutants[] = {
    {"push publishes relaxed", operation::store, std::memory_order_release, words::numbers, "::push(",
     mistake::relax},
    {"consume does not acquire", operation::load, std::memory_order_acquire, words::numbers, "::consume(",
     mistake::relax},
    {"consume gives back relaxed", operation::store, std::memory_order_release, words::numbers, "::consume(",
     mistake::relax},
    {"room does not acquire", operation::load, std::memory_order_acquire, words::numbers, "::room(",
     mistake::relax},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
