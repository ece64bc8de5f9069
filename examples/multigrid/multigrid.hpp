// Geometric multigrid for Poisson's equation in a cube of boxes, as HPGMG does: a fixed team of threads, each with boxes of
// its own, and a barrier after every step.
//
//   M. F. Adams, J. Brown, J. Shalf, B. Van Straalen, E. Strohmaier, S. Williams: HPGMG 1.0: a benchmark for ranking
//   high performance computing systems. LBNL-6630E, 2014.
//
// The threads were made for so many cores. If they get fewer of them, a team that is not preempted shares them unevenly, or
// waits for ever: S. Shiina, 2021, section 3.3.3, packs such threads onto the remaining cores.
//
// -div grad u = f on the unit cube, u = 0 on its faces; f belongs to u = sin(pi x) sin(pi y) sin(pi z). Cells are
// smoothed red and black, in place: a cell reads cells of the other colour only, so bits do not depend on the order of threads.
#pragma once

#include "../common/team.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

namespace examples {

// Numbers of a cube of cells with a layer of neighbours around it.
class cells {
public:
    explicit cells(std::size_t side) : side_(side), numbers_((side + 2) * (side + 2) * (side + 2)) {}

    std::size_t side() const { return side_; }
    // From 0 (a neighbour) to side + 1 (another one).
    double& operator()(std::size_t x, std::size_t y, std::size_t z) { return numbers_[at(x, y, z)]; }
    double operator()(std::size_t x, std::size_t y, std::size_t z) const { return numbers_[at(x, y, z)]; }
    void clear() { std::fill(numbers_.begin(), numbers_.end(), 0.0); }
    const std::vector<double>& numbers() const { return numbers_; }

    template <class Use>
    void for_each(Use&& use) const {
        for (std::size_t z = 1; z <= side_; ++z)
            for (std::size_t y = 1; y <= side_; ++y)
                for (std::size_t x = 1; x <= side_; ++x) use(x, y, z);
    }

private:
    std::size_t at(std::size_t x, std::size_t y, std::size_t z) const {
        return (z * (side_ + 2) + y) * (side_ + 2) + x;
    }
    std::size_t side_;
    std::vector<double> numbers_;
};

struct box {
    std::size_t place[3]; // in the cube of boxes
    cells u, f;

    box(std::size_t x, std::size_t y, std::size_t z, std::size_t side) : place{x, y, z}, u(side), f(side) {}
};

class multigrid {
public:
    // Boxes of (2^log_side)^3 cells, so many in each direction.
    multigrid(std::size_t log_side, std::size_t boxes_a_side)
        : boxes_a_side_(boxes_a_side)
        , residuals_(boxes_a_side * boxes_a_side * boxes_a_side) {
        for (std::size_t side = std::size_t{1} << log_side; side >= 2; side /= 2) {
            std::vector<box>& level = levels_.emplace_back();
            for (std::size_t z = 0; z < boxes_a_side; ++z)
                for (std::size_t y = 0; y < boxes_a_side; ++y)
                    for (std::size_t x = 0; x < boxes_a_side; ++x) level.emplace_back(x, y, z, side);
        }
        for (box& b : levels_[0])
            b.f.for_each([&](std::size_t x, std::size_t y, std::size_t z) {
                constexpr double pi = std::numbers::pi;
                b.f(x, y, z) = 3 * pi * pi * solution(b, x, y, z);
            });
    }

    std::size_t boxes() const { return levels_[0].size(); }

    // By all members of a team. Returns the largest residual of all cells after each cycle, the same for each member.
    void cycles(const team_member& me, std::size_t count, std::vector<double>& largest) {
        for (std::size_t c = 0; c < count; ++c) {
            cycle(me, 0);
            exchange(me, 0);
            for_own_boxes(me, 0, [&](box& b) { residuals_[index(b)] = largest_residual(b); });
            me.meet();
            if (me.rank == 0) largest[c] = *std::max_element(residuals_.begin(), residuals_.end());
        }
    }

    // Of the cells' numbers from the solution that is known.
    double largest_error() const {
        double worst = 0;
        for (const box& b : levels_[0])
            b.u.for_each([&](std::size_t x, std::size_t y, std::size_t z) {
                const double d = std::fabs(b.u(x, y, z) - solution(b, x, y, z));
                worst = d <= std::numeric_limits<double>::max() ? std::max(worst, d)
                                                                : std::numeric_limits<double>::infinity();
            });
        return worst;
    }

    double step() const { return 1 / static_cast<double>(boxes_a_side_ * levels_[0][0].u.side()); }

    bool has_same_bits(const multigrid& other) const {
        for (std::size_t i = 0; i < boxes(); ++i)
            if (levels_[0][i].u.numbers() != other.levels_[0][i].u.numbers()) return false;
        return true;
    }

private:
    static constexpr int smoothings = 3, at_the_bottom = 12;

    std::size_t index(const box& b) const {
        return (b.place[2] * boxes_a_side_ + b.place[1]) * boxes_a_side_ + b.place[0];
    }
    double step_of(const box& b) const { return 1 / static_cast<double>(boxes_a_side_ * b.u.side()); }

    double solution(const box& b, std::size_t x, std::size_t y, std::size_t z) const {
        const std::size_t in_box[3] = {x, y, z};
        double product = 1;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const auto cell = static_cast<double>(b.place[axis] * b.u.side() + in_box[axis]) - 0.5;
            product *= std::sin(std::numbers::pi * cell * step_of(b));
        }
        return product;
    }

    template <class Use>
    void for_own_boxes(const team_member& me, std::size_t level, Use&& use) {
        const auto [first, last] = me.share(boxes());
        for (std::size_t i = first; i < last; ++i) use(levels_[level][i]);
    }

    // BEGIN-EXAMPLE multigrid
    void cycle(const team_member& me, std::size_t level) {
        const bool is_last = level + 1 == levels_.size();
        smooth(me, level, is_last ? at_the_bottom : smoothings);
        if (is_last) return;
        exchange(me, level);
        for_own_boxes(me, level, [&](box& b) { restrict_residual(b, levels_[level + 1][index(b)]); });
        me.meet();
        cycle(me, level + 1);
        exchange(me, level + 1);
        for_own_boxes(me, level, [&](box& b) { add_correction(levels_[level + 1][index(b)], b); });
        me.meet();
        smooth(me, level, smoothings);
    }

    void smooth(const team_member& me, std::size_t level, int times) {
        for (int colour = 0; colour < 2 * times; ++colour) {
            exchange(me, level);
            for_own_boxes(me, level, [&](box& b) { smooth_colour(b, static_cast<std::size_t>(colour % 2)); });
            me.meet();
        }
    }
    // END-EXAMPLE multigrid

    // Takes the neighbours from the boxes beside, or reflects the cells at a face of the cube.
    void exchange(const team_member& me, std::size_t level) {
        for_own_boxes(me, level, [&](box& b) {
            for (std::size_t axis = 0; axis < 3; ++axis)
                for (const bool up : {false, true}) copy_face(b, levels_[level], axis, up);
        });
        me.meet();
    }

    void copy_face(box& to, const std::vector<box>& level, std::size_t axis, bool up) const {
        const std::size_t side = to.u.side();
        const bool at_face = to.place[axis] == (up ? boxes_a_side_ - 1 : 0);
        std::size_t beside[3] = {to.place[0], to.place[1], to.place[2]};
        if (!at_face) up ? ++beside[axis] : --beside[axis];
        const box& from = level[(beside[2] * boxes_a_side_ + beside[1]) * boxes_a_side_ + beside[0]];
        const std::size_t ghost = up ? side + 1 : 0, inside = at_face == up ? side : 1;
        const double sign = at_face ? -1 : 1;
        for (std::size_t p = 1; p <= side; ++p)
            for (std::size_t q = 1; q <= side; ++q) switch (axis) {
                case 0: to.u(ghost, p, q) = sign * from.u(inside, p, q); break;
                case 1: to.u(p, ghost, q) = sign * from.u(p, inside, q); break;
                default: to.u(p, q, ghost) = sign * from.u(p, q, inside); break;
                }
    }

    static double neighbours(const cells& u, std::size_t x, std::size_t y, std::size_t z) {
        return u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z) + u(x, y, z - 1) +
               u(x, y, z + 1);
    }

    void smooth_colour(box& b, std::size_t colour) const {
        const double square = step_of(b) * step_of(b);
        const std::size_t side = b.u.side();
        for (std::size_t z = 1; z <= side; ++z)
            for (std::size_t y = 1; y <= side; ++y)
                for (std::size_t x = 1 + (y + z + colour) % 2; x <= side; x += 2)
                    b.u(x, y, z) = (square * b.f(x, y, z) + neighbours(b.u, x, y, z)) / 6;
    }

    double residual(const box& b, std::size_t x, std::size_t y, std::size_t z) const {
        const double square = step_of(b) * step_of(b);
        return b.f(x, y, z) - (6 * b.u(x, y, z) - neighbours(b.u, x, y, z)) / square;
    }
    double largest_residual(const box& b) const {
        double worst = 0;
        b.u.for_each([&](std::size_t x, std::size_t y, std::size_t z) {
            worst = std::max(worst, std::fabs(residual(b, x, y, z)));
        });
        return worst;
    }

    // The mean of eight cells; the correction begins with 0.
    void restrict_residual(const box& fine, box& coarse) const {
        coarse.u.clear();
        coarse.f.for_each([&](std::size_t x, std::size_t y, std::size_t z) {
            double sum = 0;
            for (std::size_t k = 0; k < 8; ++k)
                sum += residual(fine, 2 * x - k % 2, 2 * y - k / 2 % 2, 2 * z - k / 4);
            coarse.f(x, y, z) = sum / 8;
        });
    }
    // Of the cell and the three beside it that are nearest.
    static void add_correction(const box& coarse, box& fine) {
        const auto towards = [](std::size_t i) { return i % 2 == 1 ? (i + 1) / 2 - 1 : (i + 1) / 2 + 1; };
        fine.u.for_each([&](std::size_t x, std::size_t y, std::size_t z) {
            const std::size_t cx = (x + 1) / 2, cy = (y + 1) / 2, cz = (z + 1) / 2;
            fine.u(x, y, z) += 0.25 * (coarse.u(cx, cy, cz) + coarse.u(towards(x), cy, cz) +
                                       coarse.u(cx, towards(y), cz) + coarse.u(cx, cy, towards(z)));
        });
    }

    std::size_t boxes_a_side_;
    std::vector<std::vector<box>> levels_;
    std::vector<double> residuals_; // of each box
};

} // namespace examples
