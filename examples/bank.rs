//! How a task accesses several objects atomically: threads transfer money between accounts. A
//! transfer names both accounts, and the table of fees, and gets all of them at once. So an audit
//! finds the same total at any time.
//!
//! `cargo run --release -p xtasking-examples --example bank`

#![forbid(unsafe_code)]

use std::thread;
use xtasking::{Frequency, JoinError, Object, Plain, Runtime, primitive::SpinLatch};

const THREADS: usize = 3;
const TRANSFERS: usize = 20_000;
const TOTAL_MONEY: i64 = 4 * 1000;

/// The price of a transfer.
struct Fees {
    flat: i64,
}

fn main() -> Result<(), JoinError> {
    let rt = Runtime::new().expect("the machine can start a worker on each core");

    // Accounts are plain objects, which one task at a time accesses. The runtime chooses a
    // synchronization primitive for each from its builder's annotations. Tasks may combine objects
    // with different primitives.
    let accounts: [Object<Plain<i64>>; 4] = [
        // The default: tasks run in FIFO order, at the object's home worker.
        rt.plain(1000).build(),
        // Accessed often: it stays in the cache, so it is not prefetched.
        rt.plain(1000).frequency(Frequency::High).build(),
        // Accessed rarely: contention is unlikely, so a latch suffices.
        rt.plain(1000).frequency(Frequency::Low).build(),
        // The primitive can also be pinned.
        rt.plain(1000).pin(SpinLatch).build(),
    ];
    // The bank's own account receives the fees.
    let bank = rt.plain(0i64).build();
    // A shared object: its readers run in parallel. Here nearly all tasks only read it.
    let fees = rt.shared_reads(Fees { flat: 1 }).read_share(99).build();
    // A snapshot: small data that are copied as a whole, so that readers never wait. It counts the
    // transfers and the money moved.
    let statistics = rt.snapshot([0u64; 2]).build();

    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (rt, accounts, bank, fees, statistics) = (&rt, &accounts, &bank, &fees, &statistics);
            scope.spawn(move || {
                for number in 0..TRANSFERS {
                    // Every pair occurs, in both directions. The order in which a task names its
                    // objects does not matter.
                    let (from, to) = (number % 4, (number + 1 + (number / 4 + thread) % 3) % 4);
                    let (from, to) = (accounts[from].write(), accounts[to].write());
                    let amount = (number % 7) as i64;
                    rt.task((from, to, bank.write(), fees.read(), statistics.write())).spawn(
                        move |(from, to, bank, fees, [transfers, moved]), _cx| {
                            *from -= amount + fees.flat;
                            *to += amount;
                            *bank += fees.flat;
                            *transfers += 1;
                            *moved += amount as u64;
                        },
                    );
                }
            });
        }

        // Meanwhile, audits add up all accounts.
        for _ in 0..100 {
            let [a, b, c, d] = &accounts;
            let audit = rt.task((a.read(), b.read(), c.read(), d.read(), bank.read()));
            let sum = audit.submit(|(a, b, c, d, bank), _cx| a + b + c + d + bank).join();
            assert_eq!(sum.expect("no transfer panics"), TOTAL_MONEY);
        }
    });

    // The threads did not wait for their transfers. This task runs after all of them, because they
    // all write the bank's account.
    let transfers = rt.task((bank.read(), statistics.read())).submit(|(bank, [transfers, _]), _cx| {
        assert_eq!(*bank as u64, *transfers, "each transfer costs one");
        *transfers
    });
    let transfers = transfers.join()?;
    assert_eq!(transfers, (THREADS * TRANSFERS) as u64);

    println!("{transfers} transfers, {TOTAL_MONEY} in total at any time");
    for (number, account) in accounts.iter().enumerate() {
        println!("account {number} uses {:?}", account.primitive());
    }
    Ok(())
}
