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
/// `worker::mailbox` until the receiver looks there. The receiver may be in another arena by then; the
/// message goes to the policy instance of the arena in which it was sent. So a team does not keep back a task
/// that is on its way to one of its members.
struct message {
    queue::list_hook queue_link{};
    arena* in = nullptr;
    worker_id from = 0, to = 0; ///< local ranks
    int kind = 0;
    task* t = nullptr;
    worker* receiver = nullptr;
    std::size_t block_bytes = 0;

    /// Bytes that move with the message: the data that the hints of its task name.
    double data_bytes() const noexcept { return t ? static_cast<double>(t->hint().bytes) : 0; }
};

/// The member of `worker::askers` that no worker has: it says that there are messages. The sender sets it
/// after it has put the message; the receiver clears it before it takes the messages.
std::uint32_t message_mark(const worker&) noexcept;

/// policy_context::post; called by the thread of `from`.
void send(arena&, worker_id from, worker_id to, int kind, task*);
/// Puts the message into its receiver's mailbox. The engine makes the receiver look there.
void put_in_mailbox(message&) noexcept;
bool has_messages(const worker&) noexcept;
/// The message mark is set: the worker does not leave the runtime before it has read its mailbox, which may
/// be empty by now.
bool has_message_mark(const worker&) noexcept;
/// Gives the worker's messages to the policy; called by the worker's thread, in the runtime.
void read_messages(worker&) noexcept;
/// Frees the messages that are left; called when no other thread reaches the worker any more.
void discard_messages(worker&) noexcept;

} // namespace weft::engine
