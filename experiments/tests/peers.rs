//! Every contender passes every standard workload, with all results checked.

use std::sync::Arc;
use xtasking_experiments::ycsb::lineup::ALL;
use xtasking_experiments::ycsb::settings::ContenderSettings;
use xtasking_ycsb::keyspace::{InsertOrder, Keyspace};
use xtasking_ycsb::plan::Plan;
use xtasking_ycsb::workload::{STANDARD, standard};

const RECORDS: u64 = 4_000;
const OPERATIONS: u64 = 8_000;

#[test]
fn every_contender_passes_every_standard_workload() {
    for entry in ALL {
        for order in [InsertOrder::Hashed, InsertOrder::Ordered] {
            for workers in [1, 3] {
                let settings = ContenderSettings::new(workers, RECORDS);
                let mut contender = (entry.start)(settings).unwrap();
                let keyspace = Keyspace::new(order, 42);
                let mut plan = Arc::new(Plan::load(keyspace, RECORDS, workers));
                contender.load(&plan).unwrap();
                contender.verify(&plan).unwrap();
                for (name, _) in STANDARD {
                    let workload = standard(name).unwrap();
                    if entry.more.abilities.refusal(&workload).is_some() {
                        continue;
                    }
                    plan = Arc::new(Plan::run(keyspace, &workload, OPERATIONS, workers, plan.past(), 42));
                    let context = format!("{} on {name} with {workers} workers, {order:?}", entry.name);
                    contender.run(&plan).unwrap_or_else(|wrong| panic!("{context}: {wrong}"));
                    contender.verify(&plan).unwrap_or_else(|wrong| panic!("{context}: {wrong}"));
                }
            }
        }
    }
}
