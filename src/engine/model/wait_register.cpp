#include "engine/model/wait_register.hpp"

#include "engine/worker/task_record.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft::engine {

void wait_register::add(const task& t, ready_reason reason, const char* what, const void* which,
                        time_ns since) {
    waiting_.insert_or_assign(&t, entry{next_++, since, reason, what, which});
}

std::string wait_register::to_string() const {
    std::map<std::uint64_t, std::pair<const task*, const entry*>> by_order;
    for (const auto& [t, e] : waiting_) by_order.emplace(e.order, std::pair(t, &e));
    std::vector<const void*> seen; // what is waited for, numbered in the order of appearance
    std::string text;
    for (const auto& [order, waiter] : by_order) {
        const auto& [t, e] = waiter;
        std::size_t number = 0;
        while (number < seen.size() && seen[number] != e->which) ++number;
        if (number == seen.size()) seen.push_back(e->which);
        text += fmt::format("  {} waits since {:.6f} s for {}", described(*t),
                            static_cast<double>(e->since) * 1e-9, e->what ? e->what : "its turn");
        if (e->what) text += fmt::format(" (no. {})", number + 1);
        text += '\n';
    }
    return text;
}

} // namespace weft::engine
