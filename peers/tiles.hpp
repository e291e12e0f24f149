// Matrices in tiles, as in experiments/src/matrix/tiles.rs: equal seeds give equal matrices.
#pragma once

#include "kernels.hpp"
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

// The lower half of a symmetric matrix, including the diagonal.
class Lower {
public:
    // Creates a random matrix that is diagonally dominant, so that it has a factor.
    Lower(std::size_t order, std::size_t tile, std::uint64_t seed) : n(tile), rows(order / tile) {
        // SplitMix64, scaled to numbers from -1 to 1.
        auto number = [state = seed]() mutable {
            std::uint64_t z = state += 0x9e3779b97f4a7c15;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
            z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
            z ^= z >> 31;
            return static_cast<double>(z >> 11) / static_cast<double>(std::uint64_t{1} << 52) - 1.0;
        };
        for (std::size_t row = 0; row < rows.size(); row++) {
            rows[row].resize(row + 1);
            for (auto &tile : rows[row]) {
                tile.resize(n * n);
                std::generate(tile.begin(), tile.end(), number);
            }
            auto &diagonal = rows[row][row];
            for (std::size_t y = 0; y < n; y++) {
                for (std::size_t x = 0; x < y; x++) {
                    diagonal[x * n + y] = diagonal[y * n + x];
                }
                diagonal[y * n + y] = static_cast<double>(order);
            }
        }
    }

    // Returns the number of rows of tiles.
    std::size_t count() const { return rows.size(); }
    double *tile(std::size_t y, std::size_t x) { return rows[y][x].data(); }

    void factorise(std::size_t k) { kernels::factorise(tile(k, k), n); }
    void divide(std::size_t y, std::size_t k) { kernels::divide(tile(y, k), tile(k, k), n); }
    void update(std::size_t y, std::size_t x, std::size_t k) {
        kernels::subtract_product(tile(y, x), tile(y, k), tile(x, k), n);
    }

    // Returns the largest absolute difference between this times its own transpose and `matrix`.
    double residual(Lower matrix) {
        double greatest = 0;
        for (std::size_t y = 0; y < count(); y++) {
            for (std::size_t x = 0; x <= y; x++) {
                for (std::size_t k = 0; k <= x; k++) {
                    kernels::subtract_product(matrix.tile(y, x), tile(y, k), tile(x, k), n);
                }
                for (double value : matrix.rows[y][x]) {
                    // Comparisons with NaN are false, and JSON has neither NaN nor infinities.
                    greatest = std::max(greatest, std::isfinite(value) ? std::abs(value)
                                                                       : std::numeric_limits<double>::max());
                }
            }
        }
        return greatest;
    }

private:
    std::size_t n;
    std::vector<std::vector<std::vector<double>>> rows;
};
