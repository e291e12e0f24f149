//! First sight.
use xtasking::*;
#[test]
fn counts() {
    for workers in [1, 2, 4] {
        let rt = Runtime::builder().workers(workers).build().unwrap();
        let counter = rt.plain(0u64).build();
        for _ in 0..1000 {
            rt.task(counter.write()).spawn(|count, _| *count += 1);
        }
        let total = rt.task(counter.read()).submit(|count, _| *count).join().unwrap();
        assert_eq!(total, 1000);
        let (a, b) = (rt.plain(100i64).build(), rt.plain(0i64).build());
        for _ in 0..100 {
            rt.task((a.write(), b.write())).spawn(|(a, b), _| {
                *a -= 1;
                *b += 1;
            });
            rt.task((b.write(), a.write())).spawn(|(b, a), _| {
                *a += 1;
                *b -= 1;
            });
        }
        let sum = rt.task((a.read(), b.read())).submit(|(a, b), _| (*a, *b)).join().unwrap();
        assert_eq!(sum, (100, 0));
    }
}
