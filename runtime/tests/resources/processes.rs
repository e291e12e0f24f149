//! Processes that are forked while a runtime has workers, and threads that cannot be started.

use crate::common::{Flag, Setting, holds_in_child};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::{io, thread};
use xtasking::{BuildError, JoinError, Runtime, managed::SetError, platform::Threads};

fn is_forked<R>(outcome: &Result<R, JoinError>) -> bool {
    matches!(outcome, Err(JoinError::Forked))
}

#[test]
fn waits_in_a_forked_process_fail_at_once() {
    // The only worker is in a task when the process is forked, and holds no lock of the runtime.
    let rt = Setting::Threads { workers: 1 }.build();
    let (inside, go) = (Flag::default(), Flag::default());
    let (began, goes) = (inside.clone(), go.clone());
    let mut before = Some(rt.task(()).submit(move |(), _| {
        began.set();
        goes.wait();
    }));
    inside.wait();
    let mut waited = Some(rt);
    let holds = holds_in_child(|| {
        let (rt, before) = (waited.take().unwrap(), before.take().unwrap());
        let object = rt.plain(0).build();
        let mut holds = is_forked(&before.join());
        holds &= is_forked(&rt.task(object.write()).submit(|_, _| ()).join());
        holds &= is_forked(&rt.run(|_| ()));
        let borrowed = 7;
        holds &= is_forked(&rt.task_scope(|scope| scope.task(()).spawn(|(), _| _ = borrowed + 1)));
        let group = rt.group();
        rt.task(()).of(&group).spawn(|(), _| ());
        holds &= is_forked(&group.wait());
        let handle = rt.task(()).submit(|(), _| ());
        let polled = pin!(handle).poll(&mut Context::from_waker(Waker::noop()));
        holds &= matches!(polled, Poll::Ready(Err(JoinError::Forked)));
        // The caller runs what has not begun.
        let pool = rt.managed();
        let set = pool.enqueue(|| ());
        holds &= pool.wait(set).is_ok() && !matches!(pool.wait_all(), Err(SetError::Failed(_)));
        drop((object, pool));
        drop(rt);
        holds
    });
    go.set();
    assert!(holds, "a wait in a forked process hangs, or does not say why it fails");
    // The parent goes on.
    before.take().unwrap().join().unwrap();
}

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "it supports no threads that start after a fork")]
fn a_forked_process_may_build_a_runtime_of_its_own() {
    let rt = Setting::Threads { workers: 2 }.build();
    let works_in_child = holds_in_child(|| {
        let own = Runtime::builder().workers(2).build().unwrap();
        own.task(()).submit(|(), _| 7).join().unwrap() == 7
    });
    assert!(works_in_child);
    assert_eq!(rt.task(()).submit(|(), _| 8).join().unwrap(), 8);
}

#[test]
fn a_runtime_whose_threads_cannot_be_started_leaves_none_behind() {
    let before = threads_of_this_process("own-");
    for failing in 0..4 {
        let threads = Threads::new(4).spawn_handler(move |worker| {
            if worker.worker() == failing {
                return Err(io::Error::other("out of threads"));
            }
            let name = format!("own-{}", worker.worker());
            thread::Builder::new().name(name).spawn(|| worker.run()).map(drop)
        });
        let Err(error) = Runtime::builder().platform(threads).workers(4).build() else {
            panic!("worker {failing} was started")
        };
        let BuildError::Platform(why) = &error else { panic!("{error}") };
        assert_eq!(
            why.to_string(),
            format!("the spawn handler cannot start thread `xtasking-{failing}`: out of threads")
        );
    }
    assert_eq!(threads_of_this_process("own-"), before);
}

/// A handler that panics has not started its worker, and the others look after its run queue.
#[test]
fn a_spawn_handler_that_panics_has_started_nothing() {
    xtasking_testing::silence_tasks();
    let threads = Threads::new(4).spawn_handler(|worker| {
        assert!(worker.worker() < 2, "provoked: no more threads");
        thread::spawn(|| worker.run());
        Ok(())
    });
    let rt = Runtime::builder().platform(threads).workers(1).most_workers(4).build().unwrap();
    let Err(BuildError::Platform(why)) = rt.resize(4) else { panic!("all workers were started") };
    assert_eq!(why.to_string(), "the spawn handler cannot start thread `xtasking-2`: the handler panicked");
    assert_eq!(rt.running_workers(), 2);
    for worker in 0..4 {
        rt.task(()).core(worker).submit(|(), _| ()).join().unwrap();
    }
}

/// Returns how many threads of this process have a name that begins so. A thread that was joined
/// may still be listed for a moment, but those of handlers are waited for by their senders only, so
/// the caller waits for their number.
fn threads_of_this_process(prefix: &str) -> usize {
    let count = || {
        let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let name = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("comm")).ok();
        threads.filter_map(name).filter(|name| name.starts_with(prefix)).count()
    };
    xtasking_testing::eventually("the threads end", || count() == 0);
    count()
}

/// A recursion of joins that is too deep for the workers' stacks ends the process, which says why.
#[test]
#[cfg_attr(sanitizer = "thread", ignore = "it supports no threads that start after a fork")]
#[cfg_attr(sanitizer = "address", ignore = "it reports the overflow itself, in other words")]
fn joins_that_are_too_deep_end_the_process_with_a_message() {
    fn descend(left: u32, mut cx: xtasking::Fork<'_>) -> u32 {
        if left == 0 { 0 } else { cx.join(|cx| descend(left - 1, cx), |_| 1).0 + 1 }
    }
    let (mut reader, writer) = io::pipe().unwrap();
    // SAFETY: as in `holds_in_child`.
    let child = match unsafe { libc::fork() } {
        0 => {
            // SAFETY: the descriptors are open.
            unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&writer), 2) };
            // SAFETY: it has no effect but a signal.
            unsafe { libc::alarm(60) };
            let threads = Threads::new(1).stack_size(256 << 10);
            let rt = Runtime::builder().platform(threads).workers(1).build().unwrap();
            let depth = rt.run(|cx| descend(10_000_000, cx));
            // SAFETY: the process ends here, if it comes here.
            unsafe { libc::_exit(i32::from(depth.is_ok())) };
        }
        child => child,
    };
    drop(writer);
    let mut said = String::new();
    io::Read::read_to_string(&mut reader, &mut said).unwrap();
    let mut status = 0;
    // SAFETY: the status is a valid place.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT, "{status}: {said}");
    assert!(said.contains("'xtasking-0'") && said.contains("has overflowed its stack"), "{said}");
}
