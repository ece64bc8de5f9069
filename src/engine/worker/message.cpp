#include "engine/worker/message.hpp"

#include "engine/ports/host.hpp"
#include "engine/ports/team_host.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"

#include <new>

namespace weft::engine {

std::uint32_t message_mark(const worker& w) noexcept { return rank(w.engine.worker_count()); }

void send(arena& a, worker_id from, worker_id to, int kind, task* t) {
    worker& sender = *a.members[rank(from)];
    std::size_t bytes = sizeof(message);
    auto& m = *::new (sender.blocks.take(bytes)) message;
    m.in = &a;
    m.from = from;
    m.to = to;
    m.kind = kind;
    m.t = t;
    m.receiver = a.members[rank(to)];
    m.block_bytes = bytes;
    sender.host.deliver(sender, m);
}

void put_in_mailbox(message& m) noexcept {
    worker& to = *m.receiver;
    to.mailbox.put(&m); // from here on the message may be gone
    // seq_cst, after the message: pairs with the erasure in read_messages()
    to.askers.insert(message_mark(to));
}

bool has_messages(const worker& w) noexcept { return !w.mailbox.empty(); }
bool has_message_mark(const worker& w) noexcept { return w.askers.contains(message_mark(w)); }

void read_messages(worker& w) noexcept {
    // seq_cst, before the messages: a sender that puts one later sets the mark again
    w.askers.erase(message_mark(w));
    while (message* const m = w.mailbox.take()) {
        arena& of = *m->in;
        const auto at = w.log ? w.log->now() : 0;
        const std::uint32_t number = m->t ? m->t->number_ : 0; // read before another worker can have the task
        const placement p = of.scheduler->message(m->to, m->from, m->kind, m->t);
        if (m->t && w.log) note_placement(*w.log, at, number, p, ready_reason::moved);
        if (!p.who.empty()) {
            if (&of == &w.arena())
                w.host.announce(w, p);
            else
                w.engine.teams.announce_in(of, p.who);
        }
        w.blocks.give(m, m->block_bytes);
    }
}

void discard_messages(worker& w) noexcept {
    while (message* const m = w.mailbox.take()) w.blocks.give(m, m->block_bytes);
}

} // namespace weft::engine
