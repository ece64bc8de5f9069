// Workers of the models that sleep: the futex_parker (threads/parker.hpp) without its system calls, and the members of an arena.
#pragma once

#include <cstdint>

#include "relacy_sync.hpp"

namespace weft::model {

class parker_type {
public:
    void arm() { word_.store(1, std::memory_order::seq_cst); }
    void sleep() {
        while (word_.load(std::memory_order::acquire) == 1) relacy_sync::yield();
    }
    void disarm() { word_.store(0, std::memory_order::relaxed); }
    void wake() {
        if (word_.load(std::memory_order::relaxed) == 1) word_.exchange(0, std::memory_order::acq_rel);
    }

private:
    relacy_sync::atomic<std::uint32_t> word_{0};
};

struct worker {
    parker_type parker;
    relacy_sync::atomic<std::uint64_t> pending_wakes{0};
};

template <int Workers>
struct member_list {
    worker all[Workers];
    worker* operator[](std::uint32_t id) { return &all[id]; }
};

} // namespace weft::model
