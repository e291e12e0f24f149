// A program on the runtime without `std`: its workers are virtual cores.
use xtasking::Runtime;
use xtasking::platform::Simulation;

fn main() {
    let rt = Runtime::builder().platform(Simulation::new(2, 1)).build().expect("two virtual cores");
    let count = rt.plain(41u64).build();
    let next = rt.task(count.write()).submit(|count, _cx| {
        *count += 1;
        *count
    });
    assert_eq!(next.join().expect("a task that ends"), 42);
}
