#include "trace/profile/skipped_forks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace weft::trace {

namespace {

constexpr double short_ns = 8000, long_ns = 1e6;
/// What it takes to follow a task, and how much of the program's time that may take for samples.
constexpr double ns_of_task = 150, share_of_samples = 0.04, least_ns_of_samples = 1e6;

std::size_t size_of(std::int64_t time) noexcept { return std::bit_width(static_cast<std::uint64_t>(time)); }

std::int64_t scaled(std::int64_t time, double by) noexcept {
    return std::llround(static_cast<double>(time) * by);
}

} // namespace

skipped_forks::skipped_forks(double ns)
    : short_time_(std::llround(short_ns / ns))
    , long_time_(std::llround(long_ns / ns))
    , ticks_of_task_(ns_of_task / ns)
    , by_construct_(std::size_t{most_constructs} * most_around)
    , kinds_(1) {}

skipped_forks::choice skipped_forks::choose(std::uint32_t construct, std::uint32_t forks_around,
                                            kind_of_fork& found) {
    std::uint16_t& known =
        by_construct_[std::size_t{construct} * most_around + std::min(forks_around, most_around - 1)];
    if (known == 0) {
        kinds_.emplace_back().construct = construct;
        known = static_cast<std::uint16_t>(kinds_.size() - 1);
    }
    found = known;
    if (sample_) return choice::follow;
    alike& k = kinds_[known];
    if (k.short_so_far < k.short_needed) return choice::follow;
    if (k.until_sample == 0) return choice::sample;
    --k.until_sample;
    return choice::skip;
}

void skipped_forks::ended(kind_of_fork which, std::int64_t time, const lengths& path) {
    alike& k = kinds_[which];
    if (time <= short_time_)
        k.short_so_far = std::min(k.short_so_far + 1, most_short);
    else
        k.short_so_far = 0;
    if (time <= 0) return;
    auto& paths = paths_[k.construct];
    if (!paths) paths = std::make_unique<by_size>();
    path_time& like = (*paths)[size_of(time)];
    like.time += time;
    like.path.add(path);
}

void skipped_forks::begin_sample(kind_of_fork which) noexcept { sample_ = which; }

construct_figures& skipped_forks::of_sample(std::uint32_t construct) {
    return figures_in(of_sample_, construct);
}

construct_figures& skipped_forks::figures_in(std::vector<share>& shares, std::uint32_t construct) {
    for (share& s : shares)
        if (s.construct == construct) return s.figures;
    return shares.emplace_back(share{construct, {}}).figures;
}

void skipped_forks::end_sample(std::int64_t time, std::int64_t passed) {
    if (lasts(time)) return cancel_sample();
    alike& k = kinds_[std::exchange(sample_, kind_of_fork{0})];
    for (const share& s : of_sample_) {
        construct_figures& all = figures_in(k.shares, s.construct);
        all.tasks += s.figures.tasks;
        all.own += s.figures.own;
        all.work += s.figures.work;
        all.span += s.figures.span;
    }
    of_sample_.clear();
    ++k.samples;
    k.sampled_time += time;
    k.short_needed = std::max(k.short_needed / 2, least_short);
    const double may =
        least_ns_of_samples / ns_of_task * ticks_of_task_ + share_of_samples * static_cast<double>(passed);
    const bool is_too_much = static_cast<double>(sampled_tasks_) * ticks_of_task_ > may;
    apart_ = is_too_much ? std::min(2 * apart_, most_apart) : std::max(apart_ / 2, least_apart);
    k.until_sample = apart_ / 2 + static_cast<std::uint32_t>(gaps_() % (apart_ + 1));
}

void skipped_forks::begin_skipped(kind_of_fork which) noexcept {
    skipped_ = which;
    ++kinds_[which].skipped;
}

lengths skipped_forks::skipped(std::int64_t time) noexcept {
    alike& k = kinds_[skipped_];
    k.skipped_time += time;
    if (time > 2 * short_time_) k.short_so_far = 0;
    if (time > 8 * short_time_) skipped_wrongly();
    lengths path{};
    const path_time* like = nullptr; // the nearest that is known
    if (const by_size* const known = paths_[k.construct].get()) {
        const std::size_t size = size_of(time);
        for (std::size_t off = 0; off < sizes && !like; ++off)
            for (const std::size_t at : {size - off, size + off}) // below 0: very large
                if (at < sizes && (*known)[at].time > 0) like = &(*known)[at];
    }
    if (!like) return path.add(time), path; // all of them were too short to be measured
    const double by = static_cast<double>(time) / static_cast<double>(like->time);
    for (std::size_t i = 0; i < path.of.size(); ++i)
        path.of[i] = std::min(time, scaled(like->path.of[i], by));
    return path;
}

void skipped_forks::skipped_wrongly() noexcept {
    alike& k = kinds_[skipped_];
    k.short_so_far = 0;
    k.short_needed = std::min(2 * k.short_needed, most_short);
}

skipped_forks::totals skipped_forks::add_to(figures_of_constructs& to) const {
    totals all;
    for (const alike& k : kinds_) {
        if (k.skipped == 0 || k.samples == 0) continue;
        all.forks += k.skipped;
        all.time += k.skipped_time;
        const double times = k.sampled_time > 0
                                 ? static_cast<double>(k.skipped_time) / static_cast<double>(k.sampled_time)
                                 : 0;
        const double counts = static_cast<double>(k.skipped) / static_cast<double>(k.samples);
        for (const share& s : k.shares) {
            construct_figures& c = to[s.construct];
            const auto tasks = std::llround(static_cast<double>(s.figures.tasks) * counts);
            all.tasks += static_cast<std::uint64_t>(tasks);
            c.tasks += static_cast<std::uint64_t>(tasks);
            c.own += scaled(s.figures.own, times);
            c.work += scaled(s.figures.work, times);
            c.span += scaled(s.figures.span, times);
        }
    }
    return all;
}

} // namespace weft::trace
