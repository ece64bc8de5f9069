#include "trace/walk/merge.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

namespace weft::trace {

namespace {

/// Far above the difference between the clocks of two workers.
constexpr std::int64_t longest_wait_ns = 100'000;

class merger {
public:
    merger(streams& all, record_sink& sink) : all_(all), sink_(sink) {
        std::size_t records = 0;
        for (std::size_t s = 0; s < all_.size(); ++s) {
            records += all_.of(s).size();
            if (all_.has_next(s)) heads_.emplace(all_.time_of_next(s), s);
        }
        out_.order.reserve(records);
        if (!heads_.empty()) out_.first = time_of_heads();
    }

    merged run() {
        while (!heads_.empty() || !waiting_.empty()) follow(choose());
        return std::move(out_);
    }

private:
    struct turn {
        std::size_t stream;
        bool is_forced; ///< its next record is taken although its cause has not been
    };

    /// A stream whose cause has come; else one whose cause is lost; else the one with the earliest record.
    turn choose() {
        const auto ready =
            std::ranges::find_if(waiting_, [&](std::size_t s) { return !sink_.must_wait(all_.next(s)); });
        if (ready != waiting_.end()) {
            all_.delay(*ready, now_);
            return stop_waiting(ready, false);
        }
        if (!waiting_.empty() &&
            (heads_.empty() || time_of_heads() > all_.time_of_next(waiting_.front()) + longest_wait_ns)) {
            ++out_.disorder;
            return stop_waiting(waiting_.begin(), true);
        }
        const std::size_t first = std::get<1>(heads_.top());
        heads_.pop();
        return {first, false};
    }
    turn stop_waiting(std::vector<std::size_t>::iterator stream, bool is_forced) {
        const turn t{*stream, is_forced};
        waiting_.erase(stream);
        return t;
    }

    /// Takes records of one stream until another stream has an earlier one, or a record has to wait.
    void follow(turn t) {
        const std::size_t s = t.stream;
        const std::int64_t others = heads_.empty() ? INT64_MAX : time_of_heads();
        for (;;) {
            if (!std::exchange(t.is_forced, false) && sink_.must_wait(all_.next(s)))
                return waiting_.push_back(s);
            const std::int64_t when = all_.time_of_next(s);
            out_.order.push_back(all_.next_index(s));
            sink_.take(all_.next(s), s, when, all_.now(s));
            all_.pass(s);
            now_ = std::max(now_, when);
            out_.last = std::max(out_.last, when);
            if (!all_.has_next(s)) return;
            if (all_.time_of_next(s) >= others || !waiting_.empty()) {
                heads_.emplace(all_.time_of_next(s), s);
                return;
            }
        }
    }

    std::int64_t time_of_heads() const { return std::get<0>(heads_.top()); }

    using head = std::tuple<std::int64_t, std::size_t>; // time of the next record, stream

    streams& all_;
    record_sink& sink_;
    merged out_;
    std::priority_queue<head, std::vector<head>, std::greater<>> heads_;
    std::vector<std::size_t> waiting_; ///< streams whose next record waits for its cause
    std::int64_t now_ = 0;             ///< the latest time that was taken
};

} // namespace

merged merge(streams& all, record_sink& sink) { return merger(all, sink).run(); }

} // namespace weft::trace
