#include "engine/model/model_engine.hpp"

/// Locks in virtual time, for policies that are told of them.
namespace weft::engine {

void model_engine::lock_changes(worker& w, const void* lock, impl::lock_event what) noexcept {
    const auto next = static_cast<std::uint32_t>(lock_numbers.size());
    const std::uint32_t number = lock_numbers.try_emplace(lock, next).first->second;
    policy& told = *w.arena().scheduler;
    task& t = *w.current->running;
    switch (what) {
    case impl::lock_event::waits: return told.lock_waits(w.local, t, number);
    case impl::lock_event::taken: return told.lock_taken(w.local, t, number);
    case impl::lock_event::released: return told.lock_released(w.local, t, number);
    }
}

} // namespace weft::engine
