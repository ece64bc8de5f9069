#pragma once

#include <atomic>

/// A list of the elements of several owners, to which any thread adds and in which any thread searches without a lock.
///
/// K1  An element is added under a lock, after a look that found none of its owner: there is at most one.
/// K2  An element is filled in, and so is its link, before the release store that puts it in front of the list. Neither
///     changes afterwards, so a search needs no lock. It may miss what another owner adds meanwhile, never its own.
namespace weft::impl {

/// The steps on a list whose first element is in an atomic `Word`. The model check runs them, too.
template <class Element>
struct element_list {
    template <class Word>
    static Element* find(const Word& list, const void* owner) noexcept {
        // acquire: pairs with the release store in add() (K2). An element further down was there when the front was added.
        Element* at = list.load(std::memory_order_acquire);
        while (at && at->owner != owner) at = at->below;
        return at;
    }
    /// Adds `made`, and returns it; if its owner has one already, returns that one. Under the lock.
    template <class Word>
    static Element& add(Word& list, Element& made) noexcept {
        if (Element* const there = find(list, made.owner)) return *there; // K1
        made.below = list.load(std::memory_order_relaxed);                // written under the lock
        // release: all of the element, for a search; pairs with the acquire load in find() (K2)
        list.store(&made, std::memory_order_release);
        return made;
    }
};

} // namespace weft::impl
