// Lace: joins by spawn, call and sync.

#include "program.hpp"
#include <lace.h>

// The macros of Lace are C, and make some functions that this program does not call.
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"

// The second half is spawned, the first one called, as in the other programs.
TASK_1(std::uint64_t, fork_join, unsigned, n) {
    if (n < 2) {
        return n;
    }
    SPAWN(fork_join, n - 2);
    const std::uint64_t a = CALL(fork_join, n - 1);
    const std::uint64_t b = SYNC(fork_join);
    return a + b;
}

namespace {

int workers = 1;

} // namespace

VOID_TASK_0(pin_worker) { pin(static_cast<int>(lace_get_worker()->worker), workers); }

namespace {

void start(int threads) {
    workers = threads;
    // The cores of the process, before any thread is pinned. The calling thread only waits.
    pin(-1, threads);
    lace_start(static_cast<unsigned>(threads), 0);
    TOGETHER(pin_worker);
}

std::uint64_t fib(unsigned number) { return RUN(fork_join, number); }

} // namespace

int main(int argc, char **argv) {
    const Peer peer{"lace", start, {{"fib", fib}}, {}, {}};
    return run_program(peer, argc, argv);
}
