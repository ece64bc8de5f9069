#include "kmpc/kmpc.hpp"
#include "runtime/league.hpp"
#include "runtime/team.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

/// __kmpc_fork_call and its like. The outlined code gets two numbers by reference, and then an address for each variable.
using namespace weft::openmp;
using namespace weft::openmp::kmpc;

namespace weft::openmp::kmpc {

gtid number_of_caller() noexcept { return current_region().on->number; }

} // namespace weft::openmp::kmpc

namespace {

using microtask = void (*)(gtid*, gtid*, ...);

/// A call with as many arguments as fit into one of these. The calling conventions of x86-64, AArch64 and RISC-V leave it to the
/// caller to remove arguments, so a function that expects fewer sees its own. (A call built in assembler would be one for each of them.)
inline constexpr std::size_t most_arguments = 1024;

template <std::size_t... I>
void call_with(microtask code, gtid* g, gtid* b, void* const* a, std::index_sequence<I...>) {
    using type = void (*)(gtid*, gtid*, decltype(static_cast<void>(I), static_cast<void*>(nullptr))...);
    reinterpret_cast<type>(reinterpret_cast<void (*)()>(code))(g, b, a[I]...);
}

/// `Room` of them are read.
template <std::size_t Room>
void call_in_room(microtask code, void* const* a) {
    gtid global = number_of_caller(), bound = 0;
    call_with(code, &global, &bound, a, std::make_index_sequence<Room>{});
}

/// The outlined code of a region, and its arguments. On the stack of the thread that begins the region, which outlives it.
struct call {
    static constexpr std::size_t few = 16;

    microtask code;
    void (*run)(microtask, void* const*);
    std::array<void*, few> own{};
    void** arguments = own.data();
    std::unique_ptr<void*[]> many{};

    call(microtask c, std::int32_t count, va_list& list) : code(c) {
        const auto n = static_cast<std::size_t>(count);
        if (n > most_arguments) {
            std::fprintf(stderr,
                         "weft: OpenMP: too many variables in a parallel region; given: %zu; allowed: %zu\n",
                         n, most_arguments);
            std::abort();
        }
        std::size_t room = few;
        if (n <= 4)
            run = call_in_room<4>;
        else if (n <= few)
            run = call_in_room<few>;
        else if (n <= 128)
            run = call_in_room<room_of_many>, room = room_of_many;
        else
            run = call_in_room<most_arguments>, room = most_arguments;
        if (room > few) {
            many = std::make_unique<void*[]>(room);
            arguments = many.get();
        }
        for (std::size_t i = 0; i < n; ++i) arguments[i] = va_arg(list, void*);
    }
    static void of(void* self) {
        const auto& c = *static_cast<call*>(self);
        c.run(c.code, c.arguments);
    }

private:
    static constexpr std::size_t room_of_many = 128;
};

/// What the entry points in front of the construct have said.
region::construct take_request(region& me) noexcept { return std::exchange(me.next_construct, {}); }

/// A list of the program, which regions inside use. Programs have few different ones, which live as long as the process.
const std::vector<int>* kept_list(const std::int32_t* list, std::uint32_t length) {
    static std::mutex lock;
    static auto* const all = new std::set<std::vector<int>>;
    const std::lock_guard guard(lock);
    return &*all->emplace(list, list + length).first;
}

void fork(call& c, const void* from) {
    region& me = current_region();
    const region::construct says = take_request(me);
    const int threads = team_size(me, static_cast<unsigned>(says.threads));
    if (says.is_strict && threads < says.threads)
        report(says.is_fatal,
               says.message ? says.message : "num_threads with strict: there are fewer threads");
    begin_parallel(threads, call::of, &c, nullptr, says.bind, nullptr, from, says.list,
                   weft::trace::address_of(c.code));
    call::of(&c);
    end_parallel(from);
}

int number_of_teams(int asked) noexcept {
    if (asked > 0) return asked;
    return settings().teams > 0 ? settings().teams : 1; // as libomp
}

} // namespace

extern "C" {

void __kmpc_begin(location*, std::int32_t) {}
void __kmpc_end(location*) {}
std::int32_t __kmpc_ok_to_fork(location*) { return 1; }

gtid __kmpc_global_thread_num(location*) { return number_of_caller(); }
std::int32_t __kmpc_global_num_threads(location*) { return current_region().in->size; }
std::int32_t __kmpc_bound_thread_num(location*) { return current_region().on->number; }
std::int32_t __kmpc_bound_num_threads(location*) { return current_region().in->size; }
std::int32_t __kmpc_in_parallel(location*) { return current_region().in->active_level > 0; }

void __kmpc_push_num_threads(location*, gtid, std::int32_t n) { current_region().next_construct.threads = n; }
void __kmpc_push_num_threads_list(location*, gtid, std::uint32_t length, std::int32_t* list) {
    region::construct& next = current_region().next_construct;
    if (length == 0) return;
    next.threads = list[0];
    next.list = length > 1 ? kept_list(list, length) : nullptr;
}
/// severity: 1 is a warning, 2 ends the program.
void __kmpc_push_num_threads_strict(location*, gtid, std::int32_t n, std::int32_t severity,
                                    const char* message) {
    region::construct& next = current_region().next_construct;
    next.threads = n;
    next.is_strict = true;
    next.is_fatal = severity == 2;
    next.message = message;
}
void __kmpc_push_num_threads_list_strict(location* at, gtid id, std::uint32_t length, std::int32_t* list,
                                         std::int32_t severity, const char* message) {
    if (length == 0) return;
    __kmpc_push_num_threads_strict(at, id, list[0], severity, message);
    __kmpc_push_num_threads_list(at, id, length, list);
}
void __kmpc_pop_num_threads(location*, gtid) { current_region().next_construct.threads = 0; }
void __kmpc_push_proc_bind(location*, gtid, std::int32_t how) { current_region().next_construct.bind = how; }
void __kmpc_push_num_teams(location*, gtid, std::int32_t teams, std::int32_t limit) {
    region::construct& next = current_region().next_construct;
    next.teams = teams;
    next.thread_limit = limit;
}
void __kmpc_push_num_teams_51(location* at, gtid id, std::int32_t least, std::int32_t most,
                              std::int32_t limit) {
    __kmpc_push_num_teams(at, id, most > 0 ? most : least, limit);
}
void __kmpc_set_thread_limit(location*, gtid, std::int32_t limit) {
    if (limit > 0) current_region().icv.thread_limit = limit;
}

void __kmpc_fork_call(location*, std::int32_t count, microtask code, ...) {
    va_list list;
    va_start(list, code);
    call c(code, count, list);
    va_end(list);
    fork(c, WEFT_CALLER);
}

void __kmpc_serialized_parallel(location*, gtid) {
    const region::construct says = take_request(current_region());
    begin_parallel(1, nullptr, nullptr, nullptr, says.bind, nullptr, WEFT_CALLER);
}
void __kmpc_end_serialized_parallel(location*, gtid) { end_parallel(WEFT_CALLER); }

/// All variables are in one structure.
void __kmpc_fork_call_if(location* at, std::int32_t count, microtask code, std::int32_t is_parallel,
                         void* data) {
    if (is_parallel) return __kmpc_fork_call(at, count, code, data);
    gtid global = 0, bound = 0;
    __kmpc_serialized_parallel(at, global);
    code(&global, &bound, data);
    __kmpc_end_serialized_parallel(at, global);
}

void __kmpc_fork_teams(location*, std::int32_t count, microtask code, ...) {
    va_list list;
    va_start(list, code);
    call c(code, count, list);
    va_end(list);
    const region::construct says = take_request(current_region());
    run_league(number_of_teams(says.teams), says.thread_limit, call::of, &c);
}

} // extern "C"
