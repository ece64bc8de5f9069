#include "policy/parts/program_places.hpp"

#include "policy/parts/code_place.hpp"
#include "policy/parts/held_lock.hpp"

#include "task/task_class.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace weft {
namespace {

std::string_view name_of(const task& root, void (*code)(void*), std::span<char> room) noexcept {
    const std::string_view given = root.hint().name;
    if (given.empty()) {
        const auto found = name_of_code(reinterpret_cast<const void*>(code), room);
        return found.empty() ? "unknown" : found;
    }
    const std::size_t n = given.copy(room.data(), room.size());
    std::ranges::replace_if(room.first(n), [](char c) { return static_cast<unsigned char>(c) <= ' '; }, '_');
    return {room.data(), n};
}

} // namespace

void program_places::attach(std::vector<std::string> candidates, double share) {
    candidates_ = std::move(candidates);
    share_ = share;
}

program_places::place& program_places::of(const task& root) noexcept {
    const std::uint64_t key = class_of(root);
    const auto known = std::span(places_).first(used_);
    if (const auto p = std::ranges::find(known, key, &place::key); p != known.end()) return *p;
    std::array<char, std::tuple_size_v<decltype(place::text)>> room{};
    const std::string_view name = name_of(root, root.call_, room);
    for (place& p : known)
        if (p.key == 0 && p.name() == name) {
            p.key = key;
            return p;
        }
    const bool is_last = used_ + 1 >= most;
    place& p = places_[is_last ? most - 1 : used_];
    if (!is_last || used_ < most) ++used_;
    if (p.length == 0) {
        p.length = (is_last ? std::string_view("others") : name).copy(p.text.data(), p.text.size());
        p.key = is_last ? 1 : key;
    }
    return p;
}

std::size_t program_places::copy(std::span<place, most> to) const noexcept {
    std::size_t count = 0;
    for (const place& p : std::span(places_).first(used_)) to[count++] = p;
    return count;
}

policy_choices program_places::describe(std::vector<place> of) const {
    std::shared_ptr<const std::string> said;
    {
        const held_lock here(saying_);
        said = said_;
    }
    policy_choices found{.places = {}, .memory = said ? *said : std::string()};
    for (place& p : of)
        if (p.runs > 0)
            found.places.push_back({.place = std::string(p.name()),
                                    .chosen = candidates_[p.record.best],
                                    .state = candidates_.size() == 1  ? "the only candidate"
                                             : trials(p).is_decided() ? "decided"
                                                                      : "other policies are tried",
                                    .why = why(p.record),
                                    .runs = p.runs,
                                    .compared = p.record.compared});
    return found;
}

/// What the comparisons with the chosen one say about each of the others.
std::string program_places::why(const place_record& r) const {
    std::string text;
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
        if (c == r.best) continue;
        const candidate_record& k = r.of[c];
        text += text.empty() ? "" : "; ";
        if (k.count > 0)
            text += fmt::format("{} took {:.2f} times as long ({} comparison{})", candidates_[c],
                                std::exp(k.mean), k.count, k.count == 1 ? "" : "s");
        else if (k.is_open)
            text += fmt::format("{} is not compared yet", candidates_[c]);
        else
            text +=
                fmt::format("{} took over {} times as long at once", candidates_[c], place_trials::hopeless);
    }
    return text.empty() ? "there is no other" : text;
}

void program_places::say(std::string text) {
    auto next = std::make_shared<const std::string>(std::move(text));
    const held_lock here(saying_);
    said_.swap(next);
}

// ---- memory

void program_places::open_memory(const std::string& where, const machine& m, const policy_context& context) {
    const bool by_default = where == "default";
    say(by_default && m.is_modelled() ? "off: on a modelled machine the knob `memory` names the folder"
                                      : "off");
    if (where == "off" || (by_default && m.is_modelled())) return;
    const auto folder = by_default ? folder_of_choices() : std::filesystem::path(where);
    if (folder.empty()) return;
    const char* const variable = std::getenv("WEFT_AUTO_MEMORY");
    is_named_ = !by_default || (variable != nullptr && *variable != '\0');
    kept_ = std::make_unique<kept_choices>(folder, m, context, candidates_);
    for (const kept_place& k : kept_->read()) {
        if (used_ + 1 == most) break;
        place& p = places_[used_++];
        p.length = k.name.copy(p.text.data(), p.text.size());
        p.record = k.record;
    }
    const std::string known = fmt::format("{} places known from {}", used_, kept_->file().string());
    if (kept_->problem().empty()) return say(known);
    say(known + ", which does not count: " + kept_->problem());
    std::fprintf(stderr, "weft: policy auto: the choices in %s do not count, and are found anew: %s\n",
                 kept_->file().c_str(), kept_->problem().c_str());
}

void program_places::keep(const std::vector<place>& of) noexcept {
    if (!kept_) return;
    std::vector<kept_place> all;
    std::uint64_t runs = 0;
    for (const place& p : of) {
        runs += p.runs;
        if (p.record.runs == 0) continue;
        kept_place& k = all.emplace_back(kept_place{std::string(p.name()), p.record});
        if (p.runs == 0) continue; // not seen in this process
        k.record.last = p.runs == 1 ? place_record::any_run : place_record::no_run;
        k.record.is_warm = false;
    }
    if (std::exchange(runs_kept_, runs) == runs) return;
    const std::string failure = kept_->write(all);
    say(failure.empty() ? fmt::format("kept in {}", kept_->file().string())
                        : fmt::format("not kept: {}", failure));
    // Where the user has named no folder, many machines have none that can be written: the report says so.
    if (!failure.empty() && is_named_ && !std::exchange(has_warned_, true))
        std::fprintf(stderr, "weft: policy auto: what it has found is not kept: %s\n", failure.c_str());
}

} // namespace weft
