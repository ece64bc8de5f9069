// The Sync class of the model checks: every access is a step of the Relacy race detector, which interleaves
// the threads of a test and lets loads return old values where the memory orders allow it.
//
//   D. Vyukov: Relacy Race Detector, https://github.com/dvyukov/relacy
//
// It can also run a structure with one deliberate mistake in it, a mutant: the memory order of chosen
// accesses weakened, a fence left out, a read-modify-write torn in two. Which accesses is told by the kind of
// operation, its order and the name of the member function that it stands in.
//
// A mutant is chosen at run time (`relacy_sync::active`), so that one program shows that the structure passes
// and that the check would have noticed the mistake.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>
#include <type_traits>

#include "queue/sync.hpp"

#include <relacy/relacy.hpp>

// Relacy renames half of the language by macros; the structures under test are written without.
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef sched_yield
#include <cassert>

// Relacy replaces operator delete but not its sized forms. A model is one source file: these are no inlines.
void operator delete(void* at, std::size_t) noexcept { ::operator delete(at); }
void operator delete[](void* at, std::size_t) noexcept { ::operator delete[](at); }

namespace weft::model {

enum class operation : std::uint8_t { load, store, exchange, compare_exchange, fetch, fence };

enum class mistake : std::uint8_t {
    relax, // the access happens, but relaxed
    omit,  // a fence or store does not happen
    tear,  // a read-modify-write becomes a load and a store
};

enum class words : std::uint8_t { all, numbers, pointers };

struct mutant {
    const char* name;
    operation on;
    std::memory_order order;   // the accesses written with this order ...
    words of;                  // ... to words of this kind ...
    std::string_view function; // ... in functions whose signature contains this
    mistake made;
    const char* beyond = nullptr; // why the checker cannot notice it; null if it must
};

struct relacy_sync {
    static inline const mutant* active = nullptr;

    static rl::debug_info place(const std::source_location& where) {
        return rl::debug_info(where.function_name(), where.file_name(), where.line());
    }

    static rl::memory_order relacy_order(std::memory_order order) {
        switch (order) {
        case std::memory_order::relaxed: return rl::mo_relaxed;
        case std::memory_order::consume: return rl::mo_consume;
        case std::memory_order::acquire: return rl::mo_acquire;
        case std::memory_order::release: return rl::mo_release;
        case std::memory_order::acq_rel: return rl::mo_acq_rel;
        case std::memory_order::seq_cst: return rl::mo_seq_cst;
        }
        return rl::mo_seq_cst;
    }

    static bool mistaken(mistake made, operation on, std::memory_order order, bool pointer,
                         const std::source_location& where) {
        return active != nullptr && active->made == made && active->on == on && active->order == order &&
               (active->of == words::all || (active->of == words::pointers) == pointer) &&
               std::string_view(where.function_name()).find(active->function) != std::string_view::npos;
    }

    template <class T>
    class atomic {
        // The checker prints values, so it gets numbers.
        static constexpr bool k_enum = std::is_enum_v<T>;
        using stored =
            typename std::conditional_t<k_enum, std::underlying_type<T>, std::type_identity<T>>::type;
        using amount_type = typename rl::atomic_add_type<stored>::type;
        using here = std::source_location;

    public:
        using value_type = T;

        atomic() : word_(stored{}) {}
        explicit(false) atomic(T value) : word_(static_cast<stored>(value)) {}
        atomic(const atomic&) = delete;
        atomic& operator=(const atomic&) = delete;

        T load(std::memory_order order, here where = here::current()) const {
            return static_cast<T>(word_.load(order_of(operation::load, order, where), place(where)));
        }

        void store(T value, std::memory_order order, here where = here::current()) {
            if (is(mistake::omit, operation::store, order, where)) return;
            word_.store(static_cast<stored>(value), order_of(operation::store, order, where), place(where));
        }

        T exchange(T value, std::memory_order order, here where = here::current()) {
            if (is(mistake::tear, operation::exchange, order, where)) {
                return torn(static_cast<stored>(value), where);
            }
            return static_cast<T>(word_.exchange(static_cast<stored>(value),
                                                 order_of(operation::exchange, order, where), place(where)));
        }

        bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                     std::memory_order failure, here where = here::current()) {
            if (is(mistake::tear, operation::compare_exchange, success, where)) {
                const auto found = static_cast<T>(word_.load(rl::mo_acquire, place(where)));
                if (found != expected) {
                    expected = found;
                    return false;
                }
                word_.store(static_cast<stored>(desired), rl::mo_release, place(where));
                return true;
            }
            auto seen = static_cast<stored>(expected);
            const rl::memory_order order = order_of(operation::compare_exchange, success, where);
            const bool done = word_.compare_exchange(
                rl::bool_t<false>(), seen, static_cast<stored>(desired), order,
                order == rl::mo_relaxed ? rl::mo_relaxed : relacy_order(failure), place(where));
            expected = static_cast<T>(seen);
            return done;
        }

        T fetch_add(amount_type amount, std::memory_order order, here where = here::current()) {
            if (is(mistake::tear, operation::fetch, order, where)) {
                return torn_by([=](stored old) { return old + amount; }, where);
            }
            return word_.fetch_add(amount, order_of(operation::fetch, order, where), place(where));
        }

        T fetch_sub(amount_type amount, std::memory_order order, here where = here::current()) {
            if (is(mistake::tear, operation::fetch, order, where)) {
                return torn_by([=](stored old) { return old - amount; }, where);
            }
            return word_.fetch_sub(amount, order_of(operation::fetch, order, where), place(where));
        }

        T fetch_or(T bits, std::memory_order order, here where = here::current()) {
            if (is(mistake::tear, operation::fetch, order, where)) {
                return torn_by([=](stored old) { return old | bits; }, where);
            }
            return word_.fetch_or(bits, order_of(operation::fetch, order, where), place(where));
        }

        T fetch_and(T bits, std::memory_order order, here where = here::current()) {
            if (is(mistake::tear, operation::fetch, order, where)) {
                return torn_by([=](stored old) { return old & bits; }, where);
            }
            return word_.fetch_and(bits, order_of(operation::fetch, order, where), place(where));
        }

    private:
        static bool is(mistake made, operation on, std::memory_order order, const here& where) {
            return mistaken(made, on, order, std::is_pointer_v<T>, where);
        }

        static rl::memory_order order_of(operation on, std::memory_order order, const here& where) {
            return is(mistake::relax, on, order, where) ? rl::mo_relaxed : relacy_order(order);
        }

        T torn(stored value, const here& where) {
            return torn_by([=](stored) { return value; }, where);
        }

        template <class Change>
        T torn_by(Change change, const here& where) {
            const stored old = word_.load(rl::mo_acquire, place(where));
            word_.store(static_cast<stored>(change(old)), rl::mo_release, place(where));
            return static_cast<T>(old);
        }

        rl::atomic<stored> word_;
    };

    template <class T>
    class var {
        using here = std::source_location;

    public:
        var() : word_(T{}) {}
        explicit var(T value) : word_(value) {}

        T get(here where = here::current()) const { return word_(place(where)).load(); }
        void set(T value, here where = here::current()) { word_(place(where)).store(value); }

    private:
        rl::var<T> word_;
    };

    static void fence(std::memory_order order, std::source_location where = std::source_location::current()) {
        if (mistaken(mistake::omit, operation::fence, order, false, where)) return;
        rl::atomic_thread_fence(relacy_order(order), place(where));
    }

    // The checker has no signal handlers.

    static void pause(std::source_location where = std::source_location::current()) {
        rl::yield(1, place(where));
    }
    static void yield(std::source_location where = std::source_location::current()) {
        rl::yield(1, place(where));
    }
    static void nap(std::source_location where = std::source_location::current()) { yield(where); }
};

// Memory whose use after release and whose loss the checker notices.
struct relacy_memory {
    static void* allocate(std::size_t bytes) { return rl::ctx().alloc(bytes, false, RL_INFO); }
    static void release(void* at, std::size_t) { rl::ctx().free(at, false, RL_INFO); }
};

} // namespace weft::model
