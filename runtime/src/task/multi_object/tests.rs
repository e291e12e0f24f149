use crate::platform::Simulation;
use crate::{Runtime, Shutdown, primitive::Sequencing};

/// Spawns that fail at their first, second or last allocation, from outside and from tasks.
#[test]
#[cfg_attr(miri, ignore = "too slow; the limit is thousands of tasks away")]
fn a_refused_spawn_gives_back_what_it_had() {
    let mut given_back = 0;
    for seed in 0..10 {
        let builder = Runtime::builder().platform(Simulation::new(3, seed)).memory_limit(1 << 20);
        let rt = builder.on_failure(drop).build().unwrap();
        let heaps = rt.shared().heaps.clone();
        let objects = [(); 4].map(|()| rt.plain(0u64).pin(Sequencing).build());
        for round in 0..4 {
            let [a, b, c, d] = objects.clone();
            // Small tasks first, to shift the moment at which memory runs out.
            (0..50 * seed).for_each(|_| rt.task(()).spawn(|(), _| ()));
            let task = rt.task(()).submit(move |(), cx| {
                for _ in 0..3000 {
                    cx.task((a.write(), b.write(), c.write(), d.write())).spawn(|_, _| ());
                    cx.task((c.write(), d.write())).spawn(|_, _| ());
                }
            });
            let [a, b, c, _] = &objects;
            if round % 2 == 0 {
                for _ in 0..3000 {
                    rt.task((a.write(), b.write(), c.write())).spawn(|_, _| ());
                }
            }
            let _ = task.join();
        }
        rt.shutdown(Shutdown::Drain);
        let stats = heaps.stats();
        assert!(heaps.quota().refused() > 0, "there was memory enough");
        assert_eq!(stats.cut, stats.free, "blocks are lost");
        given_back += stats.single_frees;
    }
    assert!(given_back > 0, "spawns failed at their first allocation only");
}
