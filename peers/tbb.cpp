// oneTBB: joins, groups of tasks, and graphs.

#include "program.hpp"
#include "steps.hpp"
#include <atomic>
#include <deque>
#include <memory>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>

namespace {

namespace tbb = oneapi::tbb;

// The threads, pinned as they enter.
class Pool : tbb::task_scheduler_observer {
public:
    explicit Pool(int threads)
        : task_scheduler_observer(arena), threads(threads),
          control(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)),
          arena(threads) {
        pin(0, threads);
        arena.initialize();
        observe(true);
        // Threads start on demand: these tasks last until all have started, or for a second.
        std::atomic<int> started{0};
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        arena.execute([&] {
            tbb::task_group group;
            for (int at = 0; at < threads; at++) {
                group.run([&] {
                    started++;
                    while (started < threads && std::chrono::steady_clock::now() < end) {
                        std::this_thread::yield();
                    }
                });
            }
            group.wait();
        });
    }
    ~Pool() override { observe(false); }

    template <class Run> void execute(Run run) { arena.execute(run); }

private:
    void on_scheduler_entry(bool) override { pin(tbb::this_task_arena::current_thread_index(), threads); }

    int threads;
    tbb::global_control control;
    tbb::task_arena arena;
};

std::unique_ptr<Pool> pool;

void start(int threads) { pool = std::make_unique<Pool>(threads); }

std::uint64_t invoke(unsigned n) {
    if (n < 2) {
        return n;
    }
    std::uint64_t a, b;
    tbb::parallel_invoke([&] { a = invoke(n - 1); }, [&] { b = invoke(n - 2); });
    return a + b;
}

std::uint64_t group(unsigned n) {
    if (n < 2) {
        return n;
    }
    std::uint64_t a, b;
    tbb::task_group group_of_two;
    group_of_two.run([&] { b = group(n - 2); });
    a = group(n - 1);
    group_of_two.wait();
    return a + b;
}

template <std::uint64_t (*Fib)(unsigned)> std::uint64_t fib(unsigned number) {
    std::uint64_t value = 0;
    pool->execute([&] { value = Fib(number); });
    return value;
}

void spawner(std::uint64_t tasks, Tally &tally) {
    pool->execute([&] {
        tbb::task_group group;
        for (std::uint64_t at = 0; at < tasks; at++) {
            group.run([&] { tally[tbb::this_task_arena::current_thread_index()].ran++; });
        }
        group.wait();
    });
}

// Counts the open dependencies of each step; the step that completes the last one spawns it.
class Counted {
public:
    explicit Counted(Lower &matrix) : matrix(matrix), waiting(Step{matrix.count(), 0, 0}.index()) {
        each_step(matrix.count(), [&](Step step) {
            waiting[step.index()].store(step.waits_for(), std::memory_order_relaxed);
        });
    }

    void run() {
        spawn(Step{0, 0, 0});
        group.wait();
    }

private:
    void spawn(Step step) {
        group.run([this, step] {
            step.perform(matrix);
            step.followers(matrix.count(), [this](Step next) {
                if (waiting[next.index()].fetch_sub(1, std::memory_order_acq_rel) == 1) {
                    spawn(next);
                }
            });
        });
    }

    Lower &matrix;
    std::vector<std::atomic<int>> waiting;
    tbb::task_group group;
};

void counted(Lower &matrix) {
    pool->execute([&] { Counted(matrix).run(); });
}

// Factorizes with one graph node for each step.
void graph(Lower &matrix) {
    using tbb::flow::continue_msg;
    using Node = tbb::flow::continue_node<continue_msg>;
    pool->execute([&] {
        tbb::flow::graph graph;
        std::deque<Node> nodes;
        each_step(matrix.count(), [&](Step step) {
            nodes.emplace_back(graph, [&matrix, step](const continue_msg &) { step.perform(matrix); });
        });
        each_step(matrix.count(), [&](Step step) {
            step.followers(matrix.count(),
                           [&](Step next) { make_edge(nodes[step.index()], nodes[next.index()]); });
        });
        nodes.front().try_put(continue_msg());
        graph.wait_for_all();
    });
}

} // namespace

int main(int argc, char **argv) {
    const Peer peer{"tbb",
                    start,
                    {{"fib", fib<invoke>}, {"fib-group", fib<group>}},
                    {{"spawner", spawner}},
                    {{"cholesky", counted}, {"cholesky-graph", graph}}};
    const int code = run_program(peer, argc, argv);
    pool.reset();
    return code;
}
