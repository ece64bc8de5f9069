// Libraries that use Weft: opened, used, closed, again and again; nothing of them stays. docs/processes.md
// has the rules.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <dlfcn.h>

#include "engine/process/signal_claim.hpp"
#include "engine/support.hpp"

namespace weft {
namespace {

// ---- one signal

int mine = 0, others = 0;
void (*below)(int, siginfo_t*, void*) = nullptr;
constinit engine::signal_claim claim(SIGUSR1);

void my_handler(int, siginfo_t* info, void* context) {
    ++mine;
    claim.forward(info, context);
}
void others_handler(int signal, siginfo_t* info, void* context) {
    ++others;
    if (below) below(signal, info, context);
}

void (*current(int signal))(int, siginfo_t*, void*) {
    struct sigaction now{};
    sigaction(signal, nullptr, &now);
    return now.sa_flags & SA_SIGINFO ? now.sa_sigaction : nullptr;
}
void install(int signal, void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(signal, &action, nullptr);
}

TEST(signal_claim, is_given_back_to_the_handler_that_was_there) {
    install(SIGUSR1, others_handler);
    mine = others = 0;
    claim.take(my_handler, 0);
    std::raise(SIGUSR1);
    EXPECT_EQ(mine, 1);
    EXPECT_EQ(others, 1);
    claim.give_back();
    EXPECT_EQ(current(SIGUSR1), others_handler);
    claim.give_back();
    std::raise(SIGUSR1);
    EXPECT_EQ(mine, 1);
    EXPECT_EQ(others, 2);
    std::signal(SIGUSR1, SIG_DFL);
}

TEST(signal_claim, stays_below_a_handler_that_came_later) {
    mine = others = 0;
    claim.take(my_handler, 0);
    below = current(SIGUSR1);
    install(SIGUSR1, others_handler);
    claim.give_back();
    EXPECT_EQ(current(SIGUSR1), others_handler);
    claim.take(my_handler, 0); // not a second time: they would call each other for ever
    EXPECT_EQ(current(SIGUSR1), others_handler);
    std::raise(SIGUSR1);
    EXPECT_EQ(mine, 1);
    EXPECT_EQ(others, 1);
    install(SIGUSR1, below); // as that one leaves
    below = nullptr;
    claim.give_back();
    EXPECT_EQ(current(SIGUSR1), nullptr);
}

// ---- the handlers of the engine

TEST(handlers, go_with_the_last_runtime) {
    if (test::sanitized) GTEST_SKIP() << "a sanitizer has handlers of its own";
    const auto urgent = current(SIGURG), fault = current(SIGSEGV), bus = current(SIGBUS);
    for (int i = 0; i < 3; ++i) {
        {
            runtime a(test::setup{"steal", 2}.options());
            EXPECT_NE(current(SIGURG), urgent);
            EXPECT_NE(current(SIGSEGV), fault);
            EXPECT_NE(current(SIGBUS), bus);
            { runtime b(test::setup{"share", 1}.options()); }
            EXPECT_NE(current(SIGURG), urgent);
            a.run([] {});
        }
        EXPECT_EQ(current(SIGURG), urgent);
        EXPECT_EQ(current(SIGSEGV), fault);
        EXPECT_EQ(current(SIGBUS), bus);
    }
}

// ---- libraries

#ifndef weft_static_module
#    define weft_static_module ""
#    define weft_shared_module ""
#endif

constexpr int result_of_work = 4950 + 10 * 55;

std::size_t entries(const char* of) {
    const std::filesystem::directory_iterator list(of);
    return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

bool is_mapped(const std::string& file) {
    std::ifstream maps("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>()};
    return text.find(std::filesystem::path(file).filename().string()) != std::string::npos;
}

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    return static_cast<std::size_t>(
        std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
}

struct library {
    explicit library(const char* path) : handle(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        if (!handle) ADD_FAILURE() << dlerror();
    }
    template <class F>
    F* get(const char* name) const {
        return reinterpret_cast<F*>(dlsym(handle, name));
    }
    void* handle;
};

class libraries : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        if (test::sanitized) GTEST_SKIP() << "the sanitizers keep what belongs to code that is gone";
    }
};

INSTANTIATE_TEST_SUITE_P(all, libraries, testing::Values(weft_static_module, weft_shared_module),
                         [](const auto& of) { return of.index == 0 ? "with_its_own" : "shared"; });

TEST_P(libraries, leave_nothing_behind) {
    const auto urgent = current(SIGURG), fault = current(SIGSEGV);
    std::size_t threads = 0, maps = 0;
    constexpr int first = 10, all = 60;
    for (int i = 0; i < all; ++i) {
        if (i == first) {
            threads = entries("/proc/self/task");
            maps = mappings();
        }
        const library lib(GetParam());
        ASSERT_NE(lib.handle, nullptr);
        EXPECT_EQ(lib.get<int()>("in_own_runtime")(), result_of_work);
        if (i % 3 != 0) {
            EXPECT_EQ(lib.get<int()>("in_default_runtime")(), result_of_work);
            EXPECT_NE(current(SIGURG), urgent);
        }
        int at_end = 0;
        if (i % 2 != 0) lib.get<void(int*)>("at_its_end")(&at_end);
        ASSERT_EQ(dlclose(lib.handle), 0);
        EXPECT_EQ(at_end, i % 2 != 0 ? result_of_work : 0);
        ASSERT_EQ(dlopen(GetParam(), RTLD_NOW | RTLD_NOLOAD), nullptr);
        ASSERT_FALSE(is_mapped(GetParam()));
        EXPECT_EQ(current(SIGURG), urgent);
        EXPECT_EQ(current(SIGSEGV), fault);
    }
    // The kernel takes a joined thread out of the list a moment later.
    EXPECT_TRUE(test::await([&] { return entries("/proc/self/task") <= threads; }));
    EXPECT_LE(mappings(), maps + (all - first) / 2); // malloc's arenas come and go
}

TEST_P(libraries, beside_the_programs_own_runtime) {
    const auto urgent = current(SIGURG);
    {
        runtime rt(test::setup{"steal", 2}.options());
        const library lib(GetParam());
        rt.run([&] {
            join([&] { EXPECT_EQ(lib.get<int()>("in_default_runtime")(), result_of_work); },
                 [&] { EXPECT_EQ(lib.get<int()>("in_own_runtime")(), result_of_work); });
        });
        dlclose(lib.handle);
        EXPECT_FALSE(is_mapped(GetParam()));
        EXPECT_NE(current(SIGURG), urgent);
        rt.run([] { parallel_for(0, 1000, [](int) {}, {.grain = 1}); });
    }
    EXPECT_EQ(current(SIGURG), urgent);
}

void* to_close = nullptr;

TEST_P(libraries, may_be_left_open_or_closed_while_the_program_exits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const bool closes : {false, true}) {
        EXPECT_EXIT(
            {
                if (closes) std::atexit([] { dlclose(to_close); }); // after what the library registers
                const library lib(GetParam());
                to_close = lib.handle;
                static int ignored = 0;
                lib.get<void(int*)>("at_its_end")(&ignored);
                std::exit(lib.get<int()>("in_default_runtime")() == result_of_work ? 0 : 1);
            },
            testing::ExitedWithCode(0), "");
    }
}

} // namespace
} // namespace weft
