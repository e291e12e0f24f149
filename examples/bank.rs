//! Accounts, and transfers between them from several threads. A transfer names both accounts (and the table of fees)
//! and gets them at once, so money is never on its way: whoever counts it finds all of it, at any moment.
//!
//! `cargo run --release -p xtasking-examples --example bank`

#![forbid(unsafe_code)]

use std::thread;
use xtasking::{Frequency, JoinError, Object, Plain, Runtime, SpinLatch};

const THREADS: usize = 3;
const TRANSFERS: usize = 20_000;
const TOTAL: i64 = 4 * 1000;

/// What a transfer costs.
struct Fees {
    flat: i64,
}

fn main() -> Result<(), JoinError> {
    let rt = Runtime::new().expect("the machine can start a worker on each core");

    // Accounts are plain objects: one task at a time. How that is kept follows from what is said about them, object by
    // object; tasks with objects of different kinds need not know.
    let accounts: [Object<Plain<i64>>; 4] = [
        // The default: its tasks run in order, at its home.
        rt.plain(1000).build(),
        // It stays in the cache, so nothing is fetched ahead.
        rt.plain(1000).frequency(Frequency::High).build(),
        // Tasks hardly ever meet here: a latch will do.
        rt.plain(1000).frequency(Frequency::Low).build(),
        // The choice can be pinned.
        rt.plain(1000).pin(SpinLatch).build(),
    ];
    // The bank's own account, where the fees go.
    let bank = rt.plain(0i64).build();
    // A shared object: its readers run side by side, and hardly anybody writes.
    let fees = rt.shared_reads(Fees { flat: 1 }).read_share(99).build();
    // A snapshot: small data that is copied as a whole, so that readers wait for nobody. Transfers, and money moved.
    let statistics = rt.snapshot([0u64; 2]).build();

    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (rt, accounts, bank, fees, statistics) = (&rt, &accounts, &bank, &fees, &statistics);
            scope.spawn(move || {
                for number in 0..TRANSFERS {
                    // Every pair comes up, in both directions; the order in which objects are named does not matter.
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

        // Meanwhile an auditor counts the money.
        for _ in 0..100 {
            let [a, b, c, d] = &accounts;
            let audit = rt.task((a.read(), b.read(), c.read(), d.read(), bank.read()));
            let sum = audit.submit(|(a, b, c, d, bank), _cx| a + b + c + d + bank).join();
            assert_eq!(sum.expect("no transfer panics"), TOTAL);
        }
    });

    // The transfers were not waited for. This task stands in line behind them, since they all write the bank's account.
    let transfers = rt.task((bank.read(), statistics.read())).submit(|(bank, [transfers, _]), _cx| {
        assert_eq!(*bank as u64, *transfers, "each transfer pays one");
        *transfers
    });
    let transfers = transfers.join()?;
    assert_eq!(transfers, (THREADS * TRANSFERS) as u64);

    println!("{transfers} transfers, {TOTAL} in total all the time");
    for (number, account) in accounts.iter().enumerate() {
        println!("account {number} was kept by {:?}", account.primitive());
    }
    Ok(())
}
