// Which interrupted code is that of malloc, or is called by it: engine/threads/preemption/malloc_code.hpp.
#include "engine/threads/preemption/malloc_code.hpp"

#include "engine/process/signal_claim.hpp"
#include "engine/threads/preemption/tick_handler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include <dlfcn.h>
#include <sys/auxv.h>
#include <ucontext.h>

namespace weft {
namespace {

struct malloc_codes : testing::Test {
    const engine::malloc_code& code = engine::malloc_code::of_this_process();
    std::array<std::uintptr_t, 128> stack{};

    /// A thread that was interrupted at this place; its stack pointer is that of `stack`.
    ucontext_t interrupted(std::uintptr_t at) const {
        ucontext_t c{};
#if defined(__x86_64__)
        c.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(at);
        c.uc_mcontext.gregs[REG_RSP] = reinterpret_cast<greg_t>(stack.data());
#elif defined(__aarch64__)
        c.uc_mcontext.pc = at;
        c.uc_mcontext.sp = reinterpret_cast<std::uintptr_t>(stack.data());
#endif
        return c;
    }
    const std::byte* top() const { return reinterpret_cast<const std::byte*>(stack.data() + stack.size()); }
    static std::uintptr_t place_of(const char* function) {
        return reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, function));
    }
    static std::uintptr_t own_place() { return reinterpret_cast<std::uintptr_t>(&place_of); }
};

TEST_F(malloc_codes, has_all_functions_of_malloc_and_nothing_of_the_program) {
    ASSERT_TRUE(code.is_known());
    for (const char* const f : {"malloc", "free", "calloc", "realloc", "posix_memalign"})
        EXPECT_TRUE(code.contains(interrupted(place_of(f) + 1))) << f;
    EXPECT_FALSE(code.contains(interrupted(own_place())));
    EXPECT_FALSE(code.contains(interrupted(place_of("nanosleep"))));
}

TEST_F(malloc_codes, what_malloc_calls_has_its_return_address_on_the_stack) {
    const auto in_library = interrupted(place_of("gnu_get_libc_version"));
    EXPECT_FALSE(code.seems_to_call(in_library, top()));
    stack[10] = place_of("malloc") + 8;
    EXPECT_TRUE(code.seems_to_call(in_library, top()));
    EXPECT_FALSE(code.seems_to_call(interrupted(own_place()), top())) << "that word is an old one";
}

TEST_F(malloc_codes, the_stack_is_read_to_its_top_and_not_far) {
    const auto in_library = interrupted(place_of("gnu_get_libc_version"));
    stack[100] = place_of("malloc") + 8;
    EXPECT_FALSE(code.seems_to_call(in_library, top())) << "no frame of what malloc calls is so large";
    stack[10] = stack[100];
    EXPECT_FALSE(code.seems_to_call(in_library, reinterpret_cast<const std::byte*>(&stack[10])));
}

// A sanitizer's malloc looks at the clock while it has a lock.
TEST_F(malloc_codes, calls_the_functions_of_the_kernels_own_library_too) {
    const std::uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
    if (vdso == 0) GTEST_SKIP() << "this kernel maps no vDSO";
    EXPECT_FALSE(code.seems_to_call(interrupted(vdso + 64), top()));
    stack[10] = place_of("malloc") + 8;
    EXPECT_TRUE(code.seems_to_call(interrupted(vdso + 64), top()));
}

// Below the handler there may be malloc.
TEST_F(malloc_codes, a_tick_that_interrupts_the_handler_of_one_is_known) {
    engine::take_tick_handler();
    struct sigaction handler{};
    ASSERT_EQ(sigaction(engine::tick_signal(), nullptr, &handler), 0);
    const auto at = reinterpret_cast<std::uintptr_t>(handler.sa_sigaction);
    const auto* const returns_to = reinterpret_cast<const void*>(place_of("gnu_get_libc_version"));
    EXPECT_TRUE(engine::is_in_tick_handler(interrupted(at), returns_to));
    EXPECT_TRUE(engine::is_in_tick_handler(interrupted(at + 4), returns_to));
    EXPECT_TRUE(engine::is_in_tick_handler(interrupted(place_of("gnu_get_libc_version")), returns_to));
    EXPECT_TRUE(engine::is_in_tick_handler(interrupted(place_of("gnu_get_libc_version") + 7), returns_to));
    EXPECT_FALSE(engine::is_in_tick_handler(interrupted(own_place()), returns_to));
    engine::give_back_tick_handler();
}

} // namespace
} // namespace weft
