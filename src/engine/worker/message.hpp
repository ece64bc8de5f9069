#pragma once

#include "queue/list_hook.hpp"
#include "task/task.hpp"

#include <cstddef>

namespace weft::impl {
struct worker;
}

namespace weft::engine {

using impl::worker;
struct arena;

/// A message from one worker's policy hook to another's: policy_context::post. It lies in the receiver's
/// `worker::mail` until the receiver comes by, in whatever arena that is by then; the instance of the policy
/// that it concerns is its own arena's. So a task that is on its way to a member of a team is not kept back
/// by the team.
struct message {
    queue::list_hook queue_link{};
    arena* in = nullptr;
    worker_id from = 0, to = 0; ///< local ranks
    int kind = 0;
    task* t = nullptr;
    worker* receiver = nullptr;
    std::size_t block_bytes = 0;

    /// What it moves beside itself: what the hints say that its task works on.
    double data_bytes() const noexcept { return t ? static_cast<double>(t->hint().bytes) : 0; }
};

/// In `worker::askers`, beyond the workers: there is mail. Set after the letter was put, cleared before the
/// letters are taken.
std::uint32_t message_mark(const worker&) noexcept;

/// policy_context::post, by the thread of `from`.
void send(arena&, worker_id from, worker_id to, int kind, task*);
/// The letter is in its receiver's mail from here on; the engine sees to it that the receiver looks.
void put_in_mailbox(message&) noexcept;
bool has_messages(const worker&) noexcept;
/// Its way out of the runtime is held up until it has read its mail, which may be gone already.
bool has_message_mark(const worker&) noexcept;
/// By the thread of the worker, in the runtime: hands its mail to the policy.
void read_messages(worker&) noexcept;
/// By the last one who knows the worker.
void discard_messages(worker&) noexcept;

} // namespace weft::engine
