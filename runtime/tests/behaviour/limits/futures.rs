//! Waits for room as futures of another runtime.

use super::{Live, is_unused};
use crate::common::{Setting, eventually, watchdog};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;
use std::thread;
use xtasking::Runtime;

#[test]
fn waits_for_room_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let rt = Setting::Threads { workers: 1 }.build();
    let (object, group) = (rt.plain(0).most_tasks(1).build(), rt.group().most_tasks(1));
    is_send(&rt.task((object.read(), object.read())).of(&group).reserve());
    is_send(&rt.limit(1).acquire());
    is_send(&rt.limit(1).try_acquire());
}

/// Waits for room in tokio, with waits that are given up half-way.
async fn produce(rt: &Runtime, count: usize, done: &Arc<AtomicUsize>, live: &Live) {
    for number in 0..count {
        if number % 5 == 0 {
            let mut wait = std::pin::pin!(rt.task(()).reserve());
            std::future::poll_fn(|context| {
                _ = wait.as_mut().poll(context).map(drop);
                Poll::Ready(())
            })
            .await;
        }
        let task = rt.task(()).reserve().await.unwrap();
        assert!(live.begin() <= 8);
        let (done, ended) = (done.clone(), live.clone());
        task.spawn(move |(), _| {
            done.fetch_add(1, SeqCst);
            ended.end();
        });
    }
}

#[test]
#[cfg_attr(sanitizer = "thread", ignore = "tokio's own locks are in compiled code of std, unseen")]
fn many_producers_wait_as_futures_and_give_up() {
    let _watched = watchdog();
    let rt = Arc::new(Setting::Threads { workers: 2 }.builder().most_tasks(8).build().unwrap());
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (done, live) = (Arc::<AtomicUsize>::default(), Live::default());
    let producers: Vec<_> = (0..20)
        .map(|_| {
            let (rt, done, live) = (rt.clone(), done.clone(), live.clone());
            tokio.spawn(async move { produce(&rt, 200, &done, &live).await })
        })
        .collect();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let task = rt.task(()).reserve_blocking().unwrap();
                    assert!(live.begin() <= 8);
                    let ended = live.clone();
                    task.spawn(move |(), _| ended.end());
                }
            });
        }
    });
    tokio.block_on(async {
        for producer in producers {
            producer.await.unwrap();
        }
    });
    eventually("all have run", || is_unused(rt.task_limit()));
    assert_eq!(done.load(SeqCst), 4000);
}
