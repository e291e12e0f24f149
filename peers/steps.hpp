// The steps of a factorization and their dependencies, for peers that take them step by step.
#pragma once

#include "tiles.hpp"
#include <cstddef>

// Step `k` of the tile in row `y` and column `x`: an update with column `k`; the last step if `k` is `x`.
struct Step {
    std::size_t y, x, k;

    // Returns the index among all steps, row by row and tile by tile.
    std::size_t index() const { return y * (y + 1) * (y + 2) / 6 + x * (x + 1) / 2 + k; }

    // Returns the number of dependencies: the step before at its tile, and those that finish its inputs.
    int waits_for() const {
        int readings = k < x ? (x < y ? 2 : 1) : (x < y ? 1 : 0);
        return readings + (k > 0 ? 1 : 0);
    }

    void perform(Lower &matrix) const {
        if (k < x) {
            matrix.update(y, x, k);
        } else if (x < y) {
            matrix.divide(y, k);
        } else {
            matrix.factorise(k);
        }
    }

    // Calls `follow` with each step that waits for this one, in a matrix of `count` rows.
    template <class Follow> void followers(std::size_t count, Follow follow) const {
        if (k < x) {
            follow(Step{y, x, k + 1});
        } else if (x < y) {
            for (std::size_t column = x + 1; column <= y; column++) {
                follow(Step{y, column, k});
            }
            for (std::size_t row = y + 1; row < count; row++) {
                follow(Step{row, y, k});
            }
        } else {
            for (std::size_t row = y + 1; row < count; row++) {
                follow(Step{row, x, k});
            }
        }
    }
};

// Calls `visit` with every step, in the order of their indexes.
template <class Visit> void each_step(std::size_t count, Visit visit) {
    for (std::size_t y = 0; y < count; y++) {
        for (std::size_t x = 0; x <= y; x++) {
            for (std::size_t k = 0; k <= x; k++) {
                visit(Step{y, x, k});
            }
        }
    }
}
