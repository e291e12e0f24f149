// The things that are done to tiles, as in experiments/src/cholesky/kernels.rs: the same loops with the same sums in the
// same order, so that what differs between a peer and us is not the arithmetic. A tile is square, row by row.
#pragma once

#include <cmath>
#include <cstddef>

namespace kernels {

// The scalar product of two rows. Several sums at once, as one would have to wait for each addition.
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

// Rows that are multiplied with one at the same time: what is read of that one serves all of them.
constexpr std::size_t ROWS = 4;

// The scalar products of a row with each of some rows, which lie behind each other.
inline void dots(const double *row, const double *rows, std::size_t n, double *products) {
    // The even and the odd ones each have a sum of their own: a vector.
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

// A tile on the diagonal becomes its own lower factor; what is above its diagonal becomes 0.
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

// A tile below the diagonal becomes that of the result: it is divided by the transpose of its column's `factor`.
inline void divide(double *__restrict tile, const double *__restrict factor, std::size_t n) {
    for (std::size_t y = 0; y < n; y++) {
        double *row = tile + y * n;
        for (std::size_t column = 0; column < n; column++) {
            const double *upper = factor + column * n;
            row[column] = (row[column] - dot(row, upper, column)) / upper[column];
        }
    }
}

// Takes the product of one tile and the transpose of another, which may be the same, away from a third.
inline void subtract_product(double *__restrict tile, const double *left, const double *right, std::size_t n) {
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
