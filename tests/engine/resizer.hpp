#pragma once

#include <weft/runtime.hpp>

#include "engine/threads/thread_engine.hpp"

#include <cstdint>
#include <random>
#include <thread>

namespace weft::test {

/// The engine of a runtime on real threads.
inline engine::thread_engine& engine_of(runtime& rt) {
    return *rt.run([] { return static_cast<engine::thread_engine*>(&impl::hot_self()->engine); });
}

/// Makes workers inactive and active again, from a thread of its own, while it lives.
class resizer {
public:
    resizer(runtime& of, int workers, std::uint64_t from, int times)
        : thread_([&e = engine_of(of), workers, from, times] {
            std::mt19937_64 random(from);
            for (int i = 0; i < times; ++i) {
                e.set_active(1 + static_cast<int>(random() % static_cast<std::uint64_t>(workers)));
                if (random() % 4 == 0) std::this_thread::yield();
            }
        }) {}
    resizer(const resizer&) = delete;
    resizer& operator=(const resizer&) = delete;
    ~resizer() { thread_.join(); }

private:
    std::thread thread_;
};

} // namespace weft::test
