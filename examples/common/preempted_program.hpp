// The options of programs whose threads wait for each other in loops.
#pragma once

#include "example.hpp"
#include "team.hpp"

#include <weft/weft.hpp>

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <string>

namespace examples {

class preempted_program : public program {
public:
    preempted_program(const std::string& description, const std::string& example_call)
        : program(description, example_call) {
        options().add_option("--preempt", preempt_,
                             "as WEFT_PREEMPT, which is taken if this is not given; if neither is, klt");
        options()
            .add_option("--barrier", barrier_,
                        "how threads wait for each other: spin; poll, a spin that modelled machines can "
                        "follow; yield, which lets "
                        "others run; pthread; weft")
            ->transform(CLI::CheckedTransformer(meetings))
            ->default_str("spin");
    }
    meeting barrier() const { return barrier_; }

    // The type of tasks and threads, as text with its options.
    std::string preempt() const {
        if (!preempt_.empty()) return preempt_;
        const char* const variable = std::getenv("WEFT_PREEMPT");
        return variable ? variable : "klt";
    }
    weft::preemption type() const {
        const std::string text = preempt();
        return text.starts_with("yield") ? weft::preemption::yield
               : text.starts_with("klt") ? weft::preemption::klt
                                         : weft::preemption::off;
    }
    weft::runtime make_runtime() const {
        auto chosen = runtime_options();
        chosen.preempt = preempt();
        return program::make_runtime(chosen);
    }

private:
    std::string preempt_;
    meeting barrier_ = meeting::spin;
};

} // namespace examples
