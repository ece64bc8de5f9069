// Model check of the completion word: the owner of a frame that was taken goes on exactly once, sees the
// result, and the thief touches the frame no more once it has told.
#include <memory>
#include <new>

#include "relacy_run.hpp"

#include "engine/run/completion.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using word_type = engine::completion<relacy_sync>;

// Mistakes in the order of steps.
constexpr const char* early = "the waiter published before it is saved";
constexpr const char* late = "the thief writes the result after it has told";

struct meeting : rl::test_suite<meeting, 2> {
    static constexpr std::uintptr_t waiter = 8;

    struct frame {
        word_type done;
        relacy_sync::var<int> result;
    };
    frame* f = nullptr;
    std::unique_ptr<relacy_sync::var<int>> saved; // the owner's context
    int went_on = 0;

    void before() {
        f = ::new (relacy_memory::allocate(sizeof(frame))) frame;
        saved = std::make_unique<relacy_sync::var<int>>(0);
        went_on = 0;
    }
    void after() {
        RL_ASSERT(went_on == 1);
        saved.reset();
    }

    /// The owner's code after the join, on whatever thread.
    void go_on() {
        RL_ASSERT(++went_on == 1);
        RL_ASSERT(f->done.poll() == word_type::failed);
        RL_ASSERT(f->result.get() == 42);
        f->~frame();
        relacy_memory::release(f, sizeof(frame));
    }
    void thread(unsigned me) {
        if (me == 0) {
            if (f->done.poll() != word_type::running) return go_on();
            if (!made(early)) saved->set(1);
            const bool wakes = f->done.wait(waiter);
            if (made(early)) saved->set(1);
            if (!wakes) go_on();
        } else {
            if (!made(late)) f->result.set(42);
            const std::uintptr_t found = f->done.finish(true);
            if (made(late)) f->result.set(42);
            if (found == 0) return;
            RL_ASSERT(found == waiter);
            RL_ASSERT(saved->get() == 1);
            go_on();
        }
    }
};

constexpr scenario scenarios[] = {
    {"meeting, bounded", 0, search<meeting>},
    {"meeting", 100000, search<meeting>},
};

constexpr mutant mutants[] = {
    {"finish relaxed", operation::exchange, order::acq_rel, words::numbers, "::finish(", mistake::relax},
    {"finish in two steps", operation::exchange, order::acq_rel, words::numbers, "::finish(", mistake::tear},
    {"poll relaxed", operation::load, order::acquire, words::numbers, "::poll(", mistake::relax},
    {"wait relaxed", operation::compare_exchange, order::acq_rel, words::numbers, "::wait(", mistake::relax},
    {"wait in two steps", operation::compare_exchange, order::acq_rel, words::numbers, "::wait(",
     mistake::tear},
    {early, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
    {late, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit},
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
