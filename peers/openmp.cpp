// OpenMP: tasks, and tasks with dependencies by the data that they read and write.

#include "program.hpp"
#include <omp.h>

namespace {

int team = 1;

void start(int threads) {
    team = threads;
    omp_set_dynamic(0);
    pin(0, threads);
    // Later teams of this size reuse these threads.
#pragma omp parallel num_threads(team)
    pin(omp_get_thread_num(), team);
}

// Runs `run` on one thread of the team; the others run its tasks, all of which have ended on return.
template <class Run> void in_team(Run run) {
#pragma omp parallel num_threads(team)
#pragma omp single
    run();
}

std::uint64_t fork(unsigned n) {
    if (n < 2) {
        return n;
    }
    std::uint64_t a, b;
#pragma omp task shared(b)
    b = fork(n - 2);
    a = fork(n - 1);
#pragma omp taskwait
    return a + b;
}

std::uint64_t fib(unsigned number) {
    std::uint64_t value = 0;
    in_team([&] { value = fork(number); });
    return value;
}

void spawner(std::uint64_t tasks, Tally &tally) {
    in_team([&] {
        Count *counts = tally.data();
        for (std::uint64_t at = 0; at < tasks; at++) {
#pragma omp task firstprivate(counts)
            counts[omp_get_thread_num()].ran++;
        }
    });
}

// Spawns the steps of the sequential program in its order, each with the tiles that it reads and writes.
void cholesky(Lower &matrix) {
    in_team([&] {
        Lower *all = &matrix;
        for (std::size_t k = 0; k < matrix.count(); k++) {
            // Used in pragmas only.
            [[maybe_unused]] double *factor = matrix.tile(k, k);
#pragma omp task depend(inout : factor[0]) firstprivate(all, k)
            all->factorise(k);
            for (std::size_t y = k + 1; y < matrix.count(); y++) {
                [[maybe_unused]] double *tile = matrix.tile(y, k);
#pragma omp task depend(inout : tile[0]) depend(in : factor[0]) firstprivate(all, y, k)
                all->divide(y, k);
            }
            for (std::size_t y = k + 1; y < matrix.count(); y++) {
                [[maybe_unused]] double *left = matrix.tile(y, k);
                for (std::size_t x = k + 1; x <= y; x++) {
                    [[maybe_unused]] double *tile = matrix.tile(y, x), *right = matrix.tile(x, k);
#pragma omp task depend(inout : tile[0]) depend(in : left[0], right[0]) firstprivate(all, y, x, k)
                    all->update(y, x, k);
                }
            }
        }
    });
}

// The sequential program, which shows how far compilers differ.
void plain(Lower &matrix) {
    for (std::size_t k = 0; k < matrix.count(); k++) {
        matrix.factorise(k);
        for (std::size_t y = k + 1; y < matrix.count(); y++) {
            matrix.divide(y, k);
        }
        for (std::size_t y = k + 1; y < matrix.count(); y++) {
            for (std::size_t x = k + 1; x <= y; x++) {
                matrix.update(y, x, k);
            }
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    const Peer peer{"openmp",
                    start,
                    {{"fib", fib}},
                    {{"spawner", spawner}},
                    {{"cholesky", cholesky}, {"cholesky-plain", plain}}};
    return run_program(peer, argc, argv);
}
