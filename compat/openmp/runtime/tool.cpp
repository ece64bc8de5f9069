#include "runtime/environment.hpp"
#include "runtime/settings.hpp"
#include "runtime/tool_state.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include <dlfcn.h>

/// The tool: how it is found, its beginning and its end.
namespace weft::openmp::tool {

constinit std::atomic<bool> active{false};
constinit std::array<std::atomic<callback>, last_event + 1> callbacks{};

namespace {

constinit start_result* started = nullptr;
constinit std::atomic<bool> has_finished{false};

/// OMP_TOOL_VERBOSE_INIT: where the lines go; null: nowhere.
std::FILE* verbose_output() {
    const auto v = variable("OMP_TOOL_VERBOSE_INIT");
    if (!v || lower(*v) == "disabled") return nullptr;
    if (lower(*v) == "stdout") return stdout;
    if (lower(*v) == "stderr") return stderr;
    std::FILE* const f = std::fopen(v->c_str(), "w"); // of the process, to its end
    if (!f)
        refuse("OMP_TOOL_VERBOSE_INIT", *v,
               "disabled, stdout, stderr, or the name of a file that can be written");
    return f;
}

struct search {
    std::FILE* out;
    void say(const std::string& text) const {
        if (!out) return;
        std::fprintf(out, "weft: OMPT: %s\n", text.c_str());
        std::fflush(out);
    }
    start_result* ask(void* function) const {
        // The version of OpenMP that the events are of, and a name for people.
        constexpr unsigned version = 202011;
        return reinterpret_cast<start_result* (*)(unsigned, const char*)>(function)(version,
                                                                                    "Weft " WEFT_VERSION);
    }
    start_result* in_process() const {
        void* const f = dlsym(RTLD_DEFAULT, "ompt_start_tool");
        if (!f) {
            say("no ompt_start_tool in the program and its libraries");
            return nullptr;
        }
        start_result* const r = ask(f);
        say(r ? "the program's ompt_start_tool answers" : "the program's ompt_start_tool declines");
        return r;
    }
    start_result* in_library(const std::string& name) const {
        void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
        if (!library) {
            const char* const why = dlerror();
            say(name + ": cannot be loaded: " + (why ? why : "no reason is known"));
            return nullptr;
        }
        void* const f = dlsym(library, "ompt_start_tool");
        start_result* const r = f ? ask(f) : nullptr;
        say(name + (r   ? ": its ompt_start_tool answers"
                    : f ? ": its ompt_start_tool declines"
                        : ": no ompt_start_tool"));
        if (!r) dlclose(library);
        return r;
    }
    start_result* in_libraries() const {
        const std::string list = variable("OMP_TOOL_LIBRARIES").value_or("");
        for (std::size_t at = 0; at < list.size();) {
            const std::size_t end = std::min(list.find(':', at), list.size());
            if (end > at)
                if (start_result* const r = in_library(list.substr(at, end - at))) return r;
            at = end + 1;
        }
        return nullptr;
    }
};

bool is_allowed() {
    const auto v = variable("OMP_TOOL");
    if (!v || v->empty() || lower(*v) == "enabled") return true;
    if (lower(*v) == "disabled") return false;
    refuse("OMP_TOOL", *v, "enabled or disabled");
    return true;
}

void start() {
    const search s{verbose_output()};
    if (!is_allowed()) return s.say("OMP_TOOL is disabled: no tool is looked for");
    start_result* r = s.in_process();
    if (!r) r = s.in_libraries();
    if (!r) return s.say("there is no tool");
    if (!r->initialize) return s.say("the tool has no function to initialize it");
    if (r->initialize(look_up, 0, &r->of_tool) == 0) return s.say("the tool does not want to run");
    started = r;
    active.store(true, std::memory_order_relaxed); // T1
    std::atexit([] { finish(); });
    s.say("the tool runs");
}

} // namespace

void start_once() {
    static std::once_flag once;
    static thread_local bool is_starting = false;
    if (is_starting) return; // the tool calls OpenMP
    is_starting = true;
    std::call_once(once, start);
    is_starting = false;
}

void finish() noexcept {
    if (!is_on() || has_finished.exchange(true, std::memory_order_relaxed)) return; // one of the callers
    end_this_thread();
    active.store(false, std::memory_order_relaxed);
    if (started->finalize) started->finalize(&started->of_tool);
}

} // namespace weft::openmp::tool
