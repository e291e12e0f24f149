// Shared by all programs: the command line, the timed turn, and the printed line.
#pragma once

#include "tiles.hpp"
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

// Counts empty tasks by thread, on separate cache lines.
struct alignas(128) Count {
    std::uint64_t ran = 0;
};
using Tally = std::vector<Count>;

// The functions of a peer, by the names of the cases.
struct Peer {
    const char *name;
    // Starts this many threads, including the calling one, and pins them.
    void (*start)(int threads);
    // Computes Fibonacci numbers by fork and join.
    std::map<std::string, std::uint64_t (*)(unsigned number)> fib;
    // Spawns empty tasks from one thread.
    std::map<std::string, void (*)(std::uint64_t tasks, Tally &)> spawner;
    // Factorizes a matrix.
    std::map<std::string, void (*)(Lower &)> cholesky;
};

// Pins the calling thread as experiments/harness/src/machine.rs does: one thread on each core, unless
// there are more threads than cores.
inline void pin(int index, int threads) {
    // The cores of the process: the first call comes from the main thread, before any is pinned.
    static const std::vector<int> cores = [] {
        cpu_set_t all;
        std::vector<int> allowed;
        if (sched_getaffinity(0, sizeof all, &all) == 0) {
            for (int core = 0; core < CPU_SETSIZE; core++) {
                if (CPU_ISSET(core, &all)) {
                    allowed.push_back(core);
                }
            }
        }
        return allowed;
    }();
    if (index >= 0 && threads <= static_cast<int>(cores.size())) {
        cpu_set_t core;
        CPU_ZERO(&core);
        CPU_SET(cores[index % cores.size()], &core);
        sched_setaffinity(0, sizeof core, &core);
    }
}

// Returns the nanoseconds of a run, after a pause in which idle threads fall asleep.
template <class Run> std::int64_t timed(Run run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto began = std::chrono::steady_clock::now();
    run();
    const auto time = std::chrono::steady_clock::now() - began;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

[[noreturn]] inline void usage(const Peer &peer) {
    std::string text = std::string("usage: ") + peer.name + " CASE …, one of\n";
    for (const auto &[name, run] : peer.fib) {
        text += "  " + name + " NUMBER THREADS\n";
    }
    for (const auto &[name, run] : peer.spawner) {
        text += "  " + name + " TASKS THREADS\n";
    }
    for (const auto &[name, run] : peer.cholesky) {
        text += "  " + name + " ORDER TILE SEED THREADS\n";
    }
    std::fputs(text.c_str(), stderr);
    std::exit(2);
}

// Runs the case once, after a smaller run that starts the threads and warms caches and stacks. Prints
// the case, the implementation, the threads, the time and the result, which the reader checks.
inline int run_program(const Peer &peer, int argc, char **argv) {
    const std::string name = argc > 1 ? argv[1] : "";
    std::vector<std::uint64_t> numbers;
    for (int at = 2; at < argc; at++) {
        char *end = nullptr;
        numbers.push_back(std::strtoull(argv[at], &end, 10));
        if (end == argv[at] || *end != '\0') {
            usage(peer);
        }
    }
    const std::uint64_t threads = numbers.empty() ? 0 : numbers.back();
    if (threads < 1 || threads > 256) {
        usage(peer);
    }
    std::int64_t time = 0;
    std::string result;
    try {
        if (const auto fib = peer.fib.find(name);
            fib != peer.fib.end() && numbers.size() == 2 && numbers[0] <= 90) {
            const auto number = static_cast<unsigned>(numbers[0]);
            std::uint64_t value = 0;
            peer.start(static_cast<int>(threads));
            fib->second(std::min(number, 15u));
            time = timed([&] { value = fib->second(number); });
            result = std::to_string(value);
        } else if (const auto spawner = peer.spawner.find(name);
                   spawner != peer.spawner.end() && numbers.size() == 2) {
            Tally warm(threads), tally(threads);
            peer.start(static_cast<int>(threads));
            spawner->second(std::min<std::uint64_t>(numbers[0], 10'000), warm);
            time = timed([&] { spawner->second(numbers[0], tally); });
            std::uint64_t ran = 0;
            for (const Count &count : tally) {
                ran += count.ran;
            }
            result = std::to_string(ran);
        } else if (const auto cholesky = peer.cholesky.find(name);
                   cholesky != peer.cholesky.end() && numbers.size() == 4) {
            const std::uint64_t order = numbers[0], tile = numbers[1], seed = numbers[2];
            if (tile == 0 || order < tile || order % tile != 0) {
                usage(peer);
            }
            peer.start(static_cast<int>(threads));
            Lower warm(64, 8, seed);
            cholesky->second(warm);
            const Lower matrix(order, tile, seed);
            Lower factor = matrix;
            time = timed([&] { cholesky->second(factor); });
            char text[32];
            std::snprintf(text, sizeof text, "%.17g", factor.residual(matrix));
            result = text;
        } else {
            usage(peer);
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s: %s\n", peer.name, error.what());
        return 1;
    }
    std::printf("{\"case\": \"%s\", \"implementation\": \"%s\", \"threads\": %d, "
                "\"nanoseconds\": %lld, \"result\": %s}\n",
                name.c_str(), peer.name, static_cast<int>(threads), static_cast<long long>(time),
                result.c_str());
    return 0;
}
