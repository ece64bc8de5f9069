#pragma once

namespace weft::openmp {

struct region;

/// What runs on one stack: of a task of Weft, or of a thread that is no worker. It lies on that stack, or belongs to the
/// thread. Only the code on that stack touches it.
struct context {
    region* current = nullptr; ///< the innermost task region of OpenMP
};

/// The task region of the caller. A thread that has none yet gets that of an initial thread. Each call looks anew, since
/// the caller may be on another kernel thread than at its last call (preemption of type `yield`).
region& current_region() noexcept;
/// The context of the caller.
context* context_of_caller() noexcept;

/// The same without making one: null for a thread that is none of OpenMP's. For signal handlers, too.
context* known_context_of_caller() noexcept;

/// The caller's stack is that of this context from here on; null: of none.
void enter_context(context*) noexcept;
/// The same after a wait.
inline void resume_context(context* c) noexcept { enter_context(c); }

} // namespace weft::openmp
