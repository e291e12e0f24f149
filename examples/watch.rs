//! How to see what a program does while it runs: a page in the browser shows its workers, queues,
//! objects and claims. Something stands out in each of them here.
//!
//! `cargo run --release -p xtasking-examples --example watch [-- 127.0.0.1:9100]`
//!
//! With an address it goes on until Ctrl-C; open `http://127.0.0.1:9100/` meanwhile. Without, it
//! ends after three seconds.

#![forbid(unsafe_code)]

use std::thread;
use std::time::{Duration, Instant};
use xtasking::{Granules, Object, Plain, Runtime};

const ACCOUNTS: usize = 40;

/// The account of which most transfers are.
const HOT: usize = 17;

/// What tasks work on.
struct Bank {
    accounts: Vec<Object<Plain<i64>>>,
    ledger: Object<Plain<u64>>,
    shelves: Granules<u32>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1);
    let rt = Runtime::builder().workers(4).inspection(true).build()?;
    // The page is there as long as this value.
    let page = xtasking_inspect::serve(&rt, address.as_deref().unwrap_or("127.0.0.1:0"))?;
    println!("see {}", page.url());

    let bank = Bank {
        // Names are told apart on the page; an object without one has its type and address.
        accounts: (0..ACCOUNTS)
            .map(|index| rt.plain(1000).name(format!("accounts[{index}]").leak()).build())
            .collect(),
        ledger: rt.plain(0).name("ledger").build(),
        shelves: rt.granules_of((0..10).map(|_| 100)),
    };
    let began = Instant::now();
    let mut turn = 0;
    while address.is_some() || began.elapsed() < Duration::from_secs(3) {
        transfers(&rt, &bank, turn);
        if turn % 100 == 10 {
            long_tasks(&rt, &bank, turn);
        }
        turn += 1;
        thread::sleep(Duration::from_millis(10));
    }
    println!("{turn} turns");
    Ok(())
}

/// Spawns a few hundred short tasks, most of which are on one account.
fn transfers(rt: &Runtime, bank: &Bank, turn: usize) {
    for number in 0..200 {
        let from = if number % 5 < 3 { HOT } else { (turn + number) % ACCOUNTS };
        let to = (from + 1 + number % 7) % ACCOUNTS;
        let (from, to) = (bank.accounts[from].write(), bank.accounts[to].write());
        rt.task((from, to)).name("transfer").spawn(|(from, to), _cx| {
            compute(Duration::from_micros(8));
            *from -= 1;
            *to += 1;
        });
    }
}

/// Spawns tasks that take long, and some that have to wait for them.
fn long_tasks(rt: &Runtime, bank: &Bank, turn: usize) {
    let shelves = &bank.shelves;
    rt.task(()).name("restock").claim(shelves.write(3..6)).spawn_with(|(), mut held, cx| {
        cx.block_in_place(|| thread::sleep(Duration::from_millis(700)));
        *held.get_mut(4) += 10;
    });
    rt.task(()).name("sell").claim(shelves.write(4..5)).spawn_with(|(), mut held, _cx| {
        *held.get_mut(4) -= 10;
    });
    rt.task(()).name("sum <all>").claim(shelves.read(0..10)).spawn_with(|(), _held, _cx| ());
    if turn % 500 == 10 {
        // It keeps its worker from other tasks, as a long computation would.
        rt.task(bank.ledger.write()).name("audit").spawn(|ledger, _cx| {
            thread::sleep(Duration::from_millis(1_500));
            *ledger += 1;
        });
    }
}

/// Is busy for a time.
fn compute(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}
