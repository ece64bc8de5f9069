// Which interrupted code is that of malloc, or is called by it: engine/threads/preemption/malloc_code.hpp.
#include "engine/threads/preemption/malloc_code.hpp"

#include "engine/process/registers.hpp"
#include "engine/process/signal_claim.hpp"
#include "engine/threads/preemption/tick_handler.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
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
    /// A function of the C library that no sanitizer replaces.
    static std::uintptr_t in_library() { return place_of("gnu_get_libc_version"); }
    static std::uintptr_t own_place() { return reinterpret_cast<std::uintptr_t>(&place_of); }
};

TEST_F(malloc_codes, has_all_functions_of_malloc_and_nothing_of_the_program) {
    ASSERT_TRUE(code.is_known());
    for (const char* const f : {"malloc", "free", "calloc", "realloc", "posix_memalign"})
        EXPECT_TRUE(code.contains(interrupted(place_of(f) + 1))) << f;
    EXPECT_FALSE(code.contains(interrupted(own_place())));
    EXPECT_FALSE(code.contains(interrupted(in_library())));
}

TEST_F(malloc_codes, what_malloc_calls_has_its_return_address_on_the_stack) {
    const auto at = interrupted(in_library());
    EXPECT_EQ(code.patience(at, top()), 0);
    stack[10] = place_of("malloc") + 8;
    EXPECT_EQ(code.patience(at, top()), 1000);
    EXPECT_EQ(code.patience(interrupted(own_place()), top()), 0) << "that word is an old one";
}

TEST_F(malloc_codes, the_stack_is_read_to_its_top_and_not_far) {
    const auto at = interrupted(in_library());
    stack[100] = place_of("malloc") + 8;
    EXPECT_EQ(code.patience(at, top()), 0) << "no frame of what malloc calls is so large";
    stack[10] = stack[100];
    EXPECT_EQ(code.patience(at, reinterpret_cast<const std::byte*>(&stack[10])), 0);
}

TEST_F(malloc_codes, a_task_does_not_yield_in_the_c_library) {
    EXPECT_EQ(code.patience_of_yield(interrupted(in_library())), 20);
    EXPECT_EQ(code.patience_of_yield(interrupted(place_of("__tls_get_addr"))), 20) << "in the dynamic linker";
    EXPECT_EQ(code.patience_of_yield(interrupted(place_of("__cxa_get_globals"))), 20) << "in the C++ library";
    EXPECT_EQ(code.patience_of_yield(interrupted(own_place())), 0);
    auto call = interrupted(place_of("syscall"));
    EXPECT_EQ(code.patience_of_yield(call), 20);
    while (!engine::is_at_system_call(call)) call = interrupted(engine::program_counter(call) + 1);
    EXPECT_EQ(code.patience_of_yield(call), 0) << "it may wait there for long";
}

/// A thread that a signal has interrupted at a system call of the C library, or behind it, with this word in the register
/// of the number and of the result.
ucontext_t in_kernel(ucontext_t c, long word, bool behind) {
#if defined(__x86_64__)
    c.uc_mcontext.gregs[REG_RIP] += behind ? 2 : 0;
    c.uc_mcontext.gregs[REG_RAX] = word;
#elif defined(__aarch64__)
    c.uc_mcontext.pc += behind ? 4 : 0;
    c.uc_mcontext.regs[behind ? 0 : 8] = static_cast<unsigned long long>(word);
#endif
    return c;
}

// A task that waits in read() is no task in malloc, whatever old words lie on its stack: it would keep its worker for long.
TEST_F(malloc_codes, malloc_waits_for_plain_locks_only) {
    auto call = interrupted(place_of("syscall"));
    while (!engine::is_at_system_call(call)) call = interrupted(engine::program_counter(call) + 1);
    stack[10] = place_of("malloc") + 8;
    for (const long of_malloc : {SYS_mmap, SYS_munmap, SYS_madvise, SYS_mprotect, SYS_brk})
        EXPECT_EQ(code.patience(in_kernel(call, of_malloc, false), top()), 100) << of_malloc;
    for (const long other : {SYS_read, SYS_write, SYS_epoll_pwait, SYS_ppoll})
        EXPECT_EQ(code.patience(in_kernel(call, other, false), top()), 2) << other;
    EXPECT_EQ(code.patience(in_kernel(call, 0, true), top()), 100) << "a call of any number has returned";
    EXPECT_EQ(code.patience(in_kernel(call, -EINTR, true), top()), 0);

    auto lock = in_kernel(call, SYS_futex, false);
    const auto with_operation = [&](long operation) {
#if defined(__x86_64__)
        lock.uc_mcontext.gregs[REG_RSI] = operation;
#elif defined(__aarch64__)
        lock.uc_mcontext.regs[1] = static_cast<unsigned long long>(operation);
#endif
        return lock;
    };
    EXPECT_EQ(code.patience(with_operation(FUTEX_WAIT_PRIVATE), top()), 100);
    EXPECT_EQ(code.patience(with_operation(FUTEX_WAIT_BITSET_PRIVATE), top()), 2) << "a condition variable";
    stack[10] = 0;
    EXPECT_EQ(code.patience(with_operation(FUTEX_WAIT_PRIVATE), top()), 0);
}

// A sanitizer's malloc looks at the clock while it has a lock.
TEST_F(malloc_codes, calls_the_functions_of_the_kernels_own_library_too) {
    const std::uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
    if (vdso == 0) GTEST_SKIP() << "this kernel maps no vDSO";
    EXPECT_EQ(code.patience(interrupted(vdso + 64), top()), 0);
    stack[10] = place_of("malloc") + 8;
    EXPECT_EQ(code.patience(interrupted(vdso + 64), top()), 1000);
}

// Below the handler there may be malloc.
TEST_F(malloc_codes, a_tick_that_interrupts_the_handler_of_one_is_known) {
    engine::take_tick_handler();
    struct sigaction handler{};
    ASSERT_EQ(sigaction(engine::tick_signal(), nullptr, &handler), 0);
    const auto at = reinterpret_cast<std::uintptr_t>(handler.sa_sigaction);
    const auto* const returns_to = reinterpret_cast<const void*>(in_library());
    EXPECT_TRUE(engine::is_in_tick_handler(interrupted(at), returns_to));
    EXPECT_TRUE(engine::is_in_tick_handler(interrupted(at + 4), returns_to));
    EXPECT_TRUE(engine::is_in_tick_handler(interrupted(in_library()), returns_to));
    EXPECT_TRUE(engine::is_in_tick_handler(interrupted(in_library() + 7), returns_to));
    EXPECT_FALSE(engine::is_in_tick_handler(interrupted(own_place()), returns_to));
    engine::give_back_tick_handler();
}

} // namespace
} // namespace weft
