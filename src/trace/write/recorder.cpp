#include "trace/write/recorder.hpp"

#include "trace/write/log.hpp"
#include "trace/write/modules.hpp"

#include <weft/error.hpp>
#include <weft/impl/entry.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::trace {

namespace {

constexpr std::size_t records_a_block = 4096;
constexpr std::uint32_t filling = 1, stopping = 2;

} // namespace

recorder::recorder(const std::string& file, std::string_view header, int workers,
                   const std::atomic<std::int64_t>* virtual_time)
    : virtual_time_(virtual_time)
    , file_(std::in_place, file, header)
    , line_(virtual_time ? moment{} : clock_.now())
    , epoch_(line_.last().ns) {
    for (int w = 0; w < workers; ++w)
        logs_.push_back(std::make_unique<log>(*this, static_cast<std::uint16_t>(w), nullptr));
    logs_.push_back(std::make_unique<log>(*this, trace::outside, nullptr));
    batch_.reserve(records_a_block);
    if (virtual_time) {
        impl::listeners.fetch_add(1, std::memory_order_relaxed); // what programs declare is an event, too
        return;
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = pthread_create(
        &thread_, nullptr, [](void* self) { return static_cast<recorder*>(self)->run(), self; }, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failure)
        throw error(
            fmt::format("cannot create the thread that writes the trace ({})", std::strerror(failure)),
            "WEFT_TRACE=" + file, "a larger limit of threads or memory for this process");
    has_thread_ = true;
    pthread_setname_np(thread_, "weft-trace");
    impl::listeners.fetch_add(1, std::memory_order_relaxed); // as above
}

recorder::recorder(event_sink& to, const std::atomic<std::int64_t>* virtual_time)
    : virtual_time_(virtual_time)
    , next_task_(event_sink::first_common)
    , line_(moment{})
    , epoch_(0) {
    logs_.push_back(std::make_unique<log>(*this, std::uint16_t{0}, &to));
    logs_.push_back(std::make_unique<log>(*this, trace::outside, &to));
    impl::listeners.fetch_add(1, std::memory_order_relaxed); // as above
}

recorder::~recorder() {
    finish();
    impl::listeners.fetch_sub(1, std::memory_order_relaxed);
}

void recorder::poke() noexcept {
    if (!has_thread_ || call_.load(std::memory_order_relaxed) != 0) return; // it has been called already
    std::uint32_t none = 0;
    if (call_.compare_exchange_strong(none, filling, std::memory_order_relaxed, std::memory_order_relaxed))
        syscall(SYS_futex, &call_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void recorder::run() noexcept {
    constexpr timespec between{.tv_sec = 0, .tv_nsec = 20'000'000};
    for (;;) {
        syscall(SYS_futex, &call_, FUTEX_WAIT_PRIVATE, 0, &between, nullptr, 0);
        // acquire: pairs with the store in finish()
        if (call_.load(std::memory_order_acquire) == stopping) return;
        std::uint32_t called = filling;
        call_.compare_exchange_strong(called, 0, std::memory_order_relaxed, std::memory_order_relaxed);
        drain();
        file_->flush();
    }
}

void recorder::drain() noexcept {
    if (!virtual_time_) line_.add(clock_.now());
    const moment until = line_.last();
    const auto write_batch = [&](std::uint16_t stream) {
        if (batch_.empty()) return;
        write_names(); // first, so that a reader knows a name before a record refers to it
        file_->add(trace_file::block::records, stream, std::as_bytes(std::span(batch_)));
        batch_.clear();
    };
    for (auto& l : logs_) {
        l->events_.consume([&](record r) {
            if (!virtual_time_) {
                if (r.at > until.ticks) return false; // for the next drain, which has a line there
                r.at = static_cast<std::uint64_t>(line_.ns(r.at) - epoch_);
            }
            batch_.push_back(r);
            if (batch_.size() == records_a_block) write_batch(l->stream_);
            return true;
        });
        write_batch(l->stream_);
    }
}

void recorder::write_names() {
    nlohmann::json fresh, places;
    std::vector<std::pair<std::string, code_address>>
        codes; // the loader is not asked under the lock of the names
    named_ = names_.after(named_, [&](std::uint32_t n, const std::string& name, code_address code) {
        const std::string key = std::to_string(n);
        if (!name.empty()) fresh[key] = name;
        if (code != 0) codes.emplace_back(key, code);
    });
    for (const auto& [key, code] : codes) {
        const code_place at = place_of(code);
        places[key] = {{"module", at.module}, {"build_id", at.build_id}, {"offset", at.offset}};
    }
    const auto write = [&](trace_file::block type, const nlohmann::json& of) {
        if (of.empty()) return;
        const std::string text = of.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        file_->add(type, trace::outside, std::as_bytes(std::span(text)));
    };
    write(trace_file::block::names, fresh);
    write(trace_file::block::places, places);
}

void recorder::finish() noexcept {
    if (finished_ || !file_) return;
    finished_ = true;
    if (has_thread_) {
        call_.store(stopping, std::memory_order_release); // pairs with run()
        syscall(SYS_futex, &call_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        pthread_join(thread_, nullptr);
    }
    drain();
    drain(); // events that were stamped while the first one began
    std::uint64_t lost = 0;
    for (auto& l : logs_)
        lost += l->lost_in_all_.load(std::memory_order_relaxed); // relaxed: their writers have stopped
    const std::string text = fmt::format(R"({{"lost": {}}})", lost);
    file_->add(trace_file::block::end, trace::outside, std::as_bytes(std::span(text)));
    file_->flush();
    if (lost > 0)
        std::fprintf(stderr, "weft: %llu events found no room in the trace %s\n",
                     static_cast<unsigned long long>(lost), file_->path().c_str());
}

} // namespace weft::trace
