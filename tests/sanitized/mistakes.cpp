// Programs with one mistake each, by name: what a sanitizer must report although the library is built without it. Two
// tasks that race meet first, by relaxed operations that order nothing, so each is on a worker of its own.
#include <weft/weft.hpp>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

long shared = 0;

/// Two tasks change `shared`: the second one when the first one has, for an access at the very same moment may escape
/// ThreadSanitizer. Relaxed operations say so.
struct meeting {
    std::atomic<int> here{0};
    std::atomic<bool> is_changed{false};

    void change() {
        const bool is_first = here.fetch_add(1, std::memory_order_relaxed) == 0;
        while (here.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
        while (!is_first && !is_changed.load(std::memory_order_relaxed)) std::this_thread::yield();
        ++shared;
        is_changed.store(true, std::memory_order_relaxed);
    }
};

void in_join() {
    meeting m;
    weft::join([&] { m.change(); }, [&] { m.change(); });
}
void in_nested_join() {
    meeting m;
    weft::join([&] { weft::join([&] { m.change(); }, [] {}); }, [&] { m.change(); });
}
void in_context_join() {
    meeting m;
    weft::join(
        weft::context::current(), [&](weft::context) { m.change(); }, [&](weft::context) { m.change(); });
}
void in_group() {
    meeting m;
    weft::task_group g;
    for (int i = 0; i < 2; ++i) g.run([&] { m.change(); });
    g.wait();
}
void of_child_and_parent() {
    meeting m;
    weft::task_group g;
    g.run([&] { m.change(); });
    m.change();
    g.wait();
}
void of_future() {
    meeting m;
    auto f = weft::async([&] { m.change(); });
    m.change();
    f.wait();
}
void in_loop() {
    meeting m;
    weft::parallel_for(0, 2, [&](int) { m.change(); }, {.grain = 1});
}
void in_graph() { // the second task does not say that it changes `shared`
    meeting m;
    weft::graph g;
    g.add([&] { m.change(); }, weft::write(shared));
    g.add([&] { m.change(); });
    g.run();
}
void beside_mutex() {
    meeting m;
    weft::mutex lock;
    weft::join(
        [&] {
            const std::lock_guard guard(lock);
            m.change();
        },
        [&] { m.change(); });
}
void before_latch() { // the count comes before the write that it should publish
    meeting m;
    weft::latch open(1);
    weft::join([&] { open.count_down(), m.change(); }, [&] { open.wait(), m.change(); });
}
void of_thread_and_task() {
    meeting m;
    std::thread outside([&] { m.change(); });
    weft::runtime::default_runtime().run([&] { m.change(); });
    outside.join();
}

// ---- for AddressSanitizer

void use_after_free() {
    auto p = std::make_unique<long>(1);
    long* const gone = p.get();
    weft::join([&] { p.reset(); }, [] {});
    weft::join([] {}, [gone] { shared = *static_cast<volatile long*>(gone); });
}
void beyond_array() {
    volatile std::size_t eight = 8;
    weft::join(
        [&] {
            long local[8] = {};
            weft::join([] {}, [&] { static_cast<volatile long*>(local)[eight] = 1; });
            shared = local[0];
        },
        [] {});
}
void in_child() {
    volatile std::size_t eight = 8;
    weft::task_group g;
    g.run([&] {
        long local[8] = {};
        static_cast<volatile long*>(local)[eight] = 1;
        shared = local[0];
    });
    g.wait();
}

const std::map<std::string, std::function<void()>> mistakes = {
    {"join", in_join},
    {"nested_join", in_nested_join},
    {"context_join", in_context_join},
    {"group", in_group},
    {"child_and_parent", of_child_and_parent},
    {"future", of_future},
    {"loop", in_loop},
    {"graph", in_graph},
    {"mutex", beside_mutex},
    {"latch", before_latch},
    {"use_after_free", use_after_free},
    {"beyond_array", beyond_array},
    {"child", in_child},
};

} // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "";
    if (name == "thread") {
        of_thread_and_task();
    } else if (const auto found = mistakes.find(name); found != mistakes.end()) {
        weft::runtime::default_runtime().run(found->second);
    } else {
        std::fprintf(stderr, "mistakes: no such mistake; given: '%s'\n", name.c_str());
        return 2;
    }
    std::printf("mistakes: %s ended\n", name.c_str());
}
