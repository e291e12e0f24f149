// Operations on tiles, with the same loops and the same order of sums as in
// experiments/src/matrix/kernels.rs, so that peers do not differ in arithmetic. A tile is square and
// stored by rows.
#pragma once

#include <cmath>
#include <cstddef>

namespace kernels {

// Returns the scalar product of two rows. Several sums run in parallel, as one would wait for each
// addition.
inline double dot(const double *a, const double *b, std::size_t length) {
    constexpr std::size_t LANES = 8;
    double sums[LANES] = {};
    std::size_t at = 0;
    for (; at + LANES <= length; at += LANES) {
        for (std::size_t lane = 0; lane < LANES; lane++) {
            sums[lane] += a[at + lane] * b[at + lane];
        }
    }
    double rest = 0;
    for (; at < length; at++) {
        rest += a[at] * b[at];
    }
    double sum = 0;
    for (double one : sums) {
        sum += one;
    }
    return sum + rest;
}

// Rows that are multiplied with one row at a time, which is then read once for all of them.
constexpr std::size_t ROWS = 4;

// Computes the scalar products of a row with each of ROWS contiguous rows.
inline void dots(const double *row, const double *rows, std::size_t n, double *products) {
    // Even and odd elements have sums of their own, which form a vector.
    double sums[ROWS][2] = {};
    std::size_t at = 0;
    for (; at + 2 <= n; at += 2) {
        for (std::size_t index = 0; index < ROWS; index++) {
            for (std::size_t lane = 0; lane < 2; lane++) {
                sums[index][lane] += row[at + lane] * rows[index * n + at + lane];
            }
        }
    }
    for (std::size_t index = 0; index < ROWS; index++) {
        double last = at < n ? row[at] * rows[index * n + at] : 0;
        products[index] = sums[index][0] + sums[index][1] + last;
    }
}

// Replaces a tile on the diagonal by its lower factor, with zeros above the diagonal.
inline void factorise(double *tile, std::size_t n) {
    for (std::size_t row = 0; row < n; row++) {
        double *current = tile + row * n;
        for (std::size_t column = 0; column < row; column++) {
            const double *upper = tile + column * n;
            current[column] = (current[column] - dot(current, upper, column)) / upper[column];
        }
        current[row] = std::sqrt(current[row] - dot(current, current, row));
        for (std::size_t column = row + 1; column < n; column++) {
            current[column] = 0;
        }
    }
}

// Divides a tile below the diagonal by the transpose of its column's `factor`.
inline void divide(double *__restrict tile, const double *__restrict factor, std::size_t n) {
    for (std::size_t y = 0; y < n; y++) {
        double *row = tile + y * n;
        for (std::size_t column = 0; column < n; column++) {
            const double *upper = factor + column * n;
            row[column] = (row[column] - dot(row, upper, column)) / upper[column];
        }
    }
}

// Subtracts the product of one tile and the transpose of another, which may be the same, from a third.
inline void subtract_product(double *__restrict tile, const double *left, const double *right,
                             std::size_t n) {
    for (std::size_t y = 0; y < n; y++) {
        double *row = tile + y * n;
        std::size_t x = 0;
        for (; x + ROWS <= n; x += ROWS) {
            double products[ROWS];
            dots(left + y * n, right + x * n, n, products);
            for (std::size_t index = 0; index < ROWS; index++) {
                row[x + index] -= products[index];
            }
        }
        for (; x < n; x++) {
            row[x] -= dot(left + y * n, right + x * n, n);
        }
    }
}

} // namespace kernels
