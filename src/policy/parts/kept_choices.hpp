#pragma once

#include "policy/parts/place_trials.hpp"
#include "policy/seam/policy.hpp"

#include "machine/machine.hpp"

#include <filesystem>
#include <string>
#include <vector>

/// The memory of `auto` between processes: a file for each program, machine and number of workers.
///
/// The first line names the format, the second what the file is about, the third the candidates. Then there is a line for each
/// place, and below it one for each candidate. A file of another version, about something else, with other candidates, or that is
/// damaged counts as none: it is replaced, and problem() says so. Nothing here is an error for the program.
namespace weft {

struct kept_place {
    std::string name; ///< without spaces
    place_record record{};
};

class kept_choices {
public:
    /// `where`: a folder, which is made when the file is written.
    kept_choices(std::filesystem::path where, const machine&, const policy_context&,
                 const std::vector<std::string>& candidates);

    std::vector<kept_place> read();
    /// Why the file that read() has found does not count; empty if it does, or if there is none.
    const std::string& problem() const noexcept { return problem_; }
    /// Writes them in place of the file; in one step, so a reader sees the old file or the new one. Keeps the number of files in
    /// the folder at `most_files`: the oldest go. What went wrong; empty if nothing did.
    std::string write(const std::vector<kept_place>&) const;

    const std::filesystem::path& file() const noexcept { return file_; }

    static constexpr std::size_t most_files = 256;

private:
    std::filesystem::path file_;
    std::string about_, candidates_, problem_;
    std::size_t count_;
};

/// Where the choices are kept: $WEFT_AUTO_MEMORY, else weft/auto in $XDG_CACHE_HOME, else in ~/.cache. Empty if nowhere: the
/// variable says `off`, or there is no such folder.
std::filesystem::path folder_of_choices();

} // namespace weft
