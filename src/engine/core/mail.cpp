#include "engine/core/mail.hpp"

#include "engine/core/engine.hpp"
#include "engine/core/tracing.hpp"

#include <new>

namespace weft::engine {

std::uint32_t mail_mark(const worker& w) noexcept { return rank(w.eng.worker_count()); }

void send(arena& a, worker_id from, worker_id to, int kind, task* t) {
    worker& sender = *a.members[rank(from)];
    std::size_t bytes = sizeof(letter);
    auto& l = *::new (sender.blocks.take(bytes)) letter;
    l.in = &a;
    l.from = from;
    l.to = to;
    l.kind = kind;
    l.t = t;
    l.receiver = a.members[rank(to)];
    l.block_bytes = bytes;
    sender.eng.carry(sender, l);
}

void put_in_mail(letter& l) noexcept {
    worker& to = *l.receiver;
    to.mail.put(&l);                 // from here on it may be gone
    to.askers.insert(mail_mark(to)); // seq_cst, after the letter: pairs with the erasure in read_mail()
}

bool has_mail(const worker& w) noexcept { return !w.mail.empty(); }
bool is_marked(const worker& w) noexcept { return w.askers.contains(mail_mark(w)); }

void read_mail(worker& w) noexcept {
    w.askers.erase(mail_mark(w)); // seq_cst, before the letters: who puts one later sets it again
    while (letter* const l = w.mail.take()) {
        arena& of = *l->in;
        const auto at = w.log ? w.log->now() : 0;
        const std::uint32_t number = l->t ? l->t->number_ : 0; // before others can have it
        const placed p = of.scheduler->message(l->to, l->from, l->kind, l->t);
        if (l->t && w.log) note_placed(*w.log, at, number, p, why::moved);
        if (!p.who.empty()) {
            if (&of == &w.in())
                w.eng.announce(w, p);
            else
                w.eng.announce_in(of, p.who);
        }
        w.blocks.give(l, l->block_bytes);
    }
}

void throw_mail_away(worker& w) noexcept {
    while (letter* const l = w.mail.take()) ::operator delete(l);
}

} // namespace weft::engine
