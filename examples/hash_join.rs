//! A hash join of two tables: orders with their customers, by bundles of walks on a shared table.
//!
//! While a bucket is fetched, a worker goes on with other rows. The workers take rows in portions.
//!
//! `cargo run --release -p xtasking-examples --example hash_join`

#![forbid(unsafe_code)]

use std::time::Instant;
use xtasking::arena::{Array, Link, Links, Written};
use xtasking::bundle::{Hop, Walk, each, fold};
use xtasking::{Context, JoinError, Part, Runtime, Version, Word};

const CUSTOMERS: u64 = 200_000;
const ORDERS: u64 = 500_000;

struct Customer {
    id: u64,
    discount: u64,
}

struct Order {
    customer: u64,
    price: u64,
}

/// Three customers: with its header a bucket fills a cache line. An id of 0 stands for none.
#[derive(Default)]
struct Bucket {
    ids: [Word; 3],
    discounts: [Word; 3],
}
impl Version for Bucket {}

/// The links of the buckets, a power of two. A full bucket goes on in the next one.
#[derive(Clone, Copy)]
struct Table(Links<Bucket>);

impl Table {
    fn first(self, id: u64) -> Link<Bucket> {
        let hash = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.0.link(hash as usize & (self.0.len() - 1))
    }

    fn next(self, bucket: Link<Bucket>) -> Link<Bucket> {
        let index = self.0.index_of(bucket).expect("a bucket of this table") + 1;
        self.0.link(index & (self.0.len() - 1))
    }
}

/// Inserts a customer.
struct Build<'a>(Table, &'a Customer);

impl Walk for Build<'_> {
    type Target = Bucket;
    type Output = ();

    fn write(&mut self, at: Link<Bucket>, bucket: Written<'_, Bucket>, _: &mut Context) -> Hop<Bucket, ()> {
        let Some(place) = bucket.ids.iter().position(|id| id.get() == 0) else {
            return Hop::Write(self.0.next(at), Part::HEAD);
        };
        bucket.ids[place].set(self.1.id, bucket.token());
        bucket.discounts[place].set(self.1.discount, bucket.token());
        Hop::End(())
    }
}

/// Looks the customer of an order up. The result is the discount.
struct Probe<'a>(Table, &'a Order);

impl Walk for Probe<'_> {
    type Target = Bucket;
    type Output = Option<u64>;

    fn read(&self, at: Link<Bucket>, bucket: &Bucket) -> Hop<Bucket, Option<u64>> {
        match bucket.ids.iter().position(|id| id.get() == self.1.customer) {
            Some(place) => Hop::End(Some(bucket.discounts[place].get())),
            None if bucket.ids[2].get() == 0 => Hop::End(None),
            None => Hop::Go(self.0.next(at), Part::HEAD),
        }
    }
}

fn main() -> Result<(), JoinError> {
    let customers: Vec<_> = (1..=CUSTOMERS).map(|id| Customer { id, discount: id % 7 }).collect();
    // An order in ten has no customer.
    let customer = |number: u64| number * number % (CUSTOMERS / 9 * 10) + 1;
    let orders: Vec<_> = (0..ORDERS).map(|n| Order { customer: customer(n), price: 10 + n % 90 }).collect();
    let rt = Runtime::new().expect("the machine can start a worker on each core");

    let begin = Instant::now();
    let buckets = Array::new(&rt, customers.len().next_power_of_two() / 2, |_| Bucket::default());
    let table = Table(buckets.links());
    rt.task_scope(|scope| {
        for (task, rows) in scope.portions(&customers[..], 1_000) {
            let walks = rows.map(|row| (table.first(row.id).write(), Build(table, row)));
            task.bundle(each(walks, |_, outcome, _| outcome.expect("no walk panics")));
        }
    })?;
    // Of each worker: matches, and the sum of their discounted prices in percent.
    let mut totals = vec![(0, 0); rt.workers()];
    rt.task_scope(|scope| {
        for ((task, rows), total) in scope.portions(&orders[..], 1_000).zip(&mut totals) {
            let walks = rows.map(|row| (table.first(row.customer).read(), Probe(table, row)));
            let bundle = fold(walks, (0, 0), |found, Probe(_, order), discount, _| {
                if let Some(discount) = discount.expect("no walk panics") {
                    *found = (found.0 + 1, found.1 + order.price * (100 - discount));
                }
            });
            task.bundle_then(bundle, |bundle, _| *total = bundle.into_state());
        }
    })?;
    let (count, sum) = totals.into_iter().fold((0, 0), |sums, total| (sums.0 + total.0, sums.1 + total.1));
    println!("{count} orders with customers bring {}, found in {:?}", sum / 100, begin.elapsed());

    let known: Vec<_> = orders.iter().filter(|order| order.customer <= CUSTOMERS).collect();
    let price = |order: &&Order| order.price * (100 - order.customer % 7);
    assert_eq!((count, sum), (known.len(), known.iter().map(price).sum::<u64>()));
    Ok(())
}
