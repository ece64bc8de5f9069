// The links of an element of the intrusive lists of this folder.
//
// An element type has a member `list_hook queue_link;` and can then be in ONE list, chain or inbox at a time.
// While the element is in a container, the container owns the hook; otherwise the thread that holds the
// element owns it. An element that must be in two containers at once has two hooks, and a Link class of its
// own names the second one.
#pragma once

#include "queue/sync.hpp"

namespace weft::queue {

template <class Sync>
struct basic_list_hook {
    typename Sync::template var<void*> next{nullptr};
    typename Sync::template var<void*> prev{nullptr};
};

using list_hook = basic_list_hook<std_sync>;

// The default Link: finds the hook of an element in its member `queue_link`.
struct member_link {
    template <class T>
    static auto& of(T& element) noexcept {
        return element.queue_link;
    }
};

} // namespace weft::queue
