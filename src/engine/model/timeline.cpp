#include "engine/model/timeline.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace weft::engine {

namespace {

constexpr const char* names[activities] = {"compute",  "private stall", "shared stall",
                                           "overhead", "search",        "asleep"};

std::string json_string(std::string_view text) { return nlohmann::json(text).dump(); }

} // namespace

timeline::timeline(std::string file) : file_(std::move(file)), out_(file_) {
    if (!out_)
        throw error("the trace cannot be written", "WEFT_TRACE=" + file_, "a file that can be created");
    out_ << "[";
}

timeline::~timeline() {
    out_ << "\n]\n";
    if (!out_.flush())
        std::fprintf(stderr, "weft: the trace %s could not be written to its end\n", file_.c_str());
}

void timeline::separate() {
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
}

void timeline::begin(std::string_view machine, std::string_view policy, int workers) {
    separate();
    out_ << fmt::format(R"({{"ph":"M","pid":0,"name":"process_name","args":{{"name":{}}}}})",
                        json_string(fmt::format("{}, {}", machine, policy)));
    for (int w = 0; w < workers; ++w) {
        separate();
        out_ << fmt::format(
            R"({{"ph":"M","pid":0,"tid":{},"name":"thread_name","args":{{"name":"worker {}"}}}})", w, w);
    }
}

void timeline::add(int worker, activity what, time_ns began, time_ns ended, const of_task* task) {
    if (ended == began) return;
    separate();
    const auto us = [](time_ns t) { return fmt::format("{}.{:03}", t / 1000, t % 1000); };
    out_ << fmt::format(R"({{"ph":"X","pid":0,"tid":{},"name":"{}","ts":{},"dur":{})", worker,
                        names[static_cast<std::size_t>(what)], us(began), us(ended - began));
    if (task) {
        out_ << fmt::format(R"(,"args":{{"task":"{:x}","level":{})", task->id, task->level);
        if (!task->name.empty()) out_ << R"(,"class":)" << json_string(task->name);
        out_ << "}";
    }
    out_ << "}";
}

} // namespace weft::engine
