#pragma once

#include "policy/parts/kept_choices.hpp"
#include "policy/parts/place_trials.hpp"
#include "policy/seam/policy.hpp"

#include "machine/machine.hpp"
#include "queue/spin_lock.hpp"
#include "task/task.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The places of a program, with what is known of the candidates at each: for `auto`.
///
/// A place is the name of a root, else the address of its code. The first ones are those that an earlier process has kept. No place
/// is ever removed, so a reference stays good. Invariant: the last of `most` places is shared by all roots that are in no other.
///
/// The caller has a lock around of(), what it does with the place, and copy(). attach() and open_memory() are called before. describe()
/// and keep() allocate, and get a copy.
namespace weft {

class program_places {
public:
    static constexpr std::size_t most = 64;

    struct place {
        std::uint64_t key =
            0; ///< class_of() its roots; 0: kept by an earlier process, and not seen in this one
        std::size_t length = 0;
        std::array<char, 128> text{};
        place_record record{};
        std::uint64_t runs = 0; ///< of this process

        std::string_view name() const noexcept { return {text.data(), length}; }
    };

    /// `share`: of the time of a place's runs, that trials may lose.
    void attach(std::vector<std::string> candidates, double share);
    /// `where`: a folder, `off` or `default`. Reads what an earlier process has kept there.
    void open_memory(const std::string& where, const machine&, const policy_context&);

    place& of(const task& root) noexcept;
    place_trials trials(place& p) const noexcept {
        return {p.record, static_cast<std::uint32_t>(candidates_.size()), share_};
    }

    /// How many of `to` are written.
    std::size_t copy(std::span<place, most> to) const noexcept;
    /// Those that have had runs in this process.
    policy_choices describe(std::vector<place>) const;

    /// For later processes, by one thread at a time. What goes wrong is told once, and in describe().
    void keep(const std::vector<place>&) noexcept;

private:
    std::string why(const place_record&) const;
    void say(std::string);

    std::vector<std::string> candidates_;
    double share_ = 0;
    std::size_t used_ = 0; ///< of places_
    std::array<place, most> places_{};

    std::unique_ptr<kept_choices> kept_; ///< null: nothing is kept
    bool is_named_ = false;              ///< the user has said where

    bool has_warned_ = false;
    std::uint64_t runs_kept_ = 0; ///< of this process, that are in the file
    mutable queue::spin_lock<> saying_;
    std::shared_ptr<const std::string> said_; ///< of the memory; under saying_
};

} // namespace weft
