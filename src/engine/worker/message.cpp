#include "engine/worker/message.hpp"

#include "engine/ports/host.hpp"
#include "engine/ports/team_host.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"

#include <new>

namespace weft::engine {

std::uint32_t message_mark(const worker& w) noexcept { return rank(w.eng.worker_count()); }

void send(arena& a, worker_id from, worker_id to, int kind, task* t) {
    worker& sender = *a.members[rank(from)];
    std::size_t bytes = sizeof(message);
    auto& l = *::new (sender.blocks.take(bytes)) message;
    l.in = &a;
    l.from = from;
    l.to = to;
    l.kind = kind;
    l.t = t;
    l.receiver = a.members[rank(to)];
    l.block_bytes = bytes;
    sender.host.deliver(sender, l);
}

void put_in_mailbox(message& l) noexcept {
    worker& to = *l.receiver;
    to.mailbox.put(&l); // from here on it may be gone
    to.askers.insert(
        message_mark(to)); // seq_cst, after the letter: pairs with the erasure in read_messages()
}

bool has_messages(const worker& w) noexcept { return !w.mailbox.empty(); }
bool is_marked(const worker& w) noexcept { return w.askers.contains(message_mark(w)); }

void read_messages(worker& w) noexcept {
    w.askers.erase(message_mark(w)); // seq_cst, before the letters: who puts one later sets it again
    while (message* const l = w.mailbox.take()) {
        arena& of = *l->in;
        const auto at = w.log ? w.log->now() : 0;
        const std::uint32_t number = l->t ? l->t->number_ : 0; // before others can have it
        const placement p = of.scheduler->message(l->to, l->from, l->kind, l->t);
        if (l->t && w.log) note_placement(*w.log, at, number, p, ready_reason::moved);
        if (!p.who.empty()) {
            if (&of == &w.arena())
                w.host.announce(w, p);
            else
                w.eng.teams.announce_in(of, p.who);
        }
        w.blocks.give(l, l->block_bytes);
    }
}

void discard_messages(worker& w) noexcept {
    while (message* const l = w.mailbox.take()) ::operator delete(l);
}

} // namespace weft::engine
