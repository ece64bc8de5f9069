#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weft::trace {

/// Names by number, from 1; 0 is no name. Any thread may call any function.
class names {
public:
    /// Returns 0 if there is no memory for the name.
    std::uint32_t number(std::string_view name) noexcept {
        if (name.empty()) return 0;
        try {
            const std::lock_guard guard(lock_);
            if (const auto known = numbers_.find(name); known != numbers_.end()) return known->second;
            const std::string& kept = all_.emplace_back(name);
            const auto n = static_cast<std::uint32_t>(all_.size());
            numbers_.emplace(kept, n);
            return n;
        } catch (...) { return 0; }
    }
    /// Calls each(number, name) for the names with numbers above `from`. Returns the last number.
    template <class Each>
    std::uint32_t after(std::uint32_t from, Each&& each) {
        const std::lock_guard guard(lock_);
        for (std::size_t i = from; i < all_.size(); ++i) each(static_cast<std::uint32_t>(i + 1), all_[i]);
        return static_cast<std::uint32_t>(all_.size());
    }

private:
    std::mutex lock_;
    std::deque<std::string> all_;
    std::unordered_map<std::string_view, std::uint32_t> numbers_; // of strings in all_
};

} // namespace weft::trace
