#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

namespace weft::trace {

/// The address of a function that the compiler has made of one construct of the program's source, as the second closure of a
/// join. It tells the construct from others, and symbols and debug information tell where it stands. 0: none.
using code_address = std::uintptr_t;

template <class Function>
    requires std::is_function_v<Function>
code_address address_of(Function* f) noexcept {
    return std::bit_cast<code_address>(f);
}

/// Numbers of what tasks are called in a trace, from 1; 0 is nothing. A number stands for a name, for a place in the code, or
/// for a name with the place of the first task that had it. Any thread may call any function.
class names {
public:
    /// The name counts if there is one, else the place. Returns 0 if there is neither, and if there is no memory.
    std::uint32_t number(std::string_view name, code_address code = 0) noexcept {
        if (name.empty() && code == 0) return 0;
        try {
            const std::lock_guard guard(lock_);
            return name.empty() ? of_place(code) : of_name(name, code);
        } catch (...) { return 0; }
    }
    /// Calls each(number, name, code) for the numbers above `from`. Returns the last number.
    template <class Each>
    std::uint32_t after(std::uint32_t from, Each&& each) {
        const std::lock_guard guard(lock_);
        for (std::size_t i = from; i < all_.size(); ++i)
            each(static_cast<std::uint32_t>(i + 1), all_[i].name, all_[i].code);
        return static_cast<std::uint32_t>(all_.size());
    }

private:
    struct entry {
        std::string name;
        code_address code;
    };

    std::uint32_t of_name(std::string_view name, code_address code) {
        if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
        const entry& kept = all_.emplace_back(std::string(name), code);
        return by_name_.emplace(kept.name, static_cast<std::uint32_t>(all_.size())).first->second;
    }
    std::uint32_t of_place(code_address code) {
        if (const auto known = by_place_.find(code); known != by_place_.end()) return known->second;
        all_.emplace_back(std::string(), code);
        return by_place_.emplace(code, static_cast<std::uint32_t>(all_.size())).first->second;
    }

    std::mutex lock_;
    std::deque<entry> all_;
    std::unordered_map<std::string_view, std::uint32_t> by_name_; // of strings in all_
    std::unordered_map<code_address, std::uint32_t> by_place_;
};

} // namespace weft::trace
