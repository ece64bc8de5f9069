#pragma once

#include "policy/parts/id_table.hpp"
#include "policy/parts/tree_part.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

/// On which socket each subtree began last, so that the subtree finds its data in that socket's cache in the
/// next iteration; and how large a part of the tree each socket keeps in this way.
///
/// A subtree is identified by its part of the tree. Trees of the same shape that run at the same time are
/// taken for one. Then the sums of the sockets are blurred, and nothing else.
///
/// Not here: which pool a subtree waits in, and which workers may take it from there. Any worker may call any
/// function after attach(). The sums are hints.
namespace weft {

class kept_subtrees {
public:
    /// Allocates: for policy::attach. Without it nothing is kept.
    void attach(int sockets) {
        homes_ = std::make_unique<id_table>();
        widths_ = std::make_unique<width[]>(static_cast<std::size_t>(sockets));
    }

    /// The socket that keeps the subtree; -1: none.
    int home_of(const tree_part& subtree) const noexcept {
        return homes_ ? static_cast<int>(homes_->find(subtree.key())) - 1 : -1;
    }

    /// The subtree begins on that socket, which keeps it from now on.
    void keep(const tree_part& subtree, int socket) noexcept {
        if (!homes_) return;
        const int before = home_of(subtree);
        if (before == socket) return;
        homes_->insert(subtree.key(), static_cast<std::uint64_t>(socket) + 1);
        if (before < 0 && home_of(subtree) < 0) return; // the table has no room for it
        if (before >= 0) at(before).sum.add(-subtree.size());
        at(socket).sum.add(subtree.size());
    }

    /// How much larger a part of the tree `richer` keeps than `poorer`, in tree_part::size().
    std::int64_t surplus(int richer, int poorer) const noexcept {
        return homes_ ? at(richer).sum.load_relaxed() - at(poorer).sum.load_relaxed() : 0;
    }

private:
    struct alignas(queue::k_cache_line_bytes) width {
        queue::cell<std::int64_t> sum; // of tree_part::size()
    };
    width& at(int socket) const noexcept { return widths_[static_cast<std::size_t>(socket)]; }

    std::unique_ptr<id_table> homes_; // by tree_part::key(): socket + 1
    std::unique_ptr<width[]> widths_;
};

} // namespace weft
