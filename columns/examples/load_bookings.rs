//! Loads bookings from a file, and queries some of them.
//!
//! `cargo run --release -p xtasking-columns --features csv,ipc,parquet --example load_bookings --
//! [file]` loads a Parquet (`.parquet`), CSV (`.csv`) or Arrow file (any other name). Without a
//! file, it writes and loads a CSV file.

#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use xtasking::Runtime;
use xtasking_columns::load::{Csv, Source};
use xtasking_columns::{Aggregate, Batch, Filter, Query, Table};

const CARRIERS: [&str; 5] = ["AF", "BA", "LH", "LX", "TK"];

fn bookings(rows: u32) -> String {
    let mut text = "code,name,carrier,day,fare\n".to_string();
    for row in 0..rows {
        // A pseudorandom number.
        let mixed = row.wrapping_mul(0x9e37_79b9) >> 7;
        let (carrier, day) = (CARRIERS[mixed as usize % 5], mixed % 28 + 1);
        let fare = f64::from(mixed % 90_000) / 100.0;
        writeln!(text, "{:06X},Passenger {},{carrier},2026-11-{day:02},{fare}", row / 3, mixed % 1000)
            .expect("writing to a string cannot fail");
    }
    text
}

fn open(path: &Path) -> Result<Source, Box<dyn Error>> {
    Ok(match path.extension().and_then(|extension| extension.to_str()) {
        Some("parquet") => Source::parquet(path)?,
        Some("csv") => Source::csv(path, &Csv::default())?,
        _ => Source::ipc(path)?,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let rt = Runtime::new()?;
    let given = std::env::args().nth(1).map(PathBuf::from);
    let path = match &given {
        Some(path) => path.clone(),
        None => {
            let path = std::env::temp_dir().join(format!("bookings-{}.csv", std::process::id()));
            std::fs::write(&path, bookings(300_000))?;
            path
        }
    };
    let source = open(&path)?;
    let table = Table::new(&rt, source.schema().clone(), rt.workers())?;
    let began = Instant::now();
    let rows = table.load(&rt, source)?;
    println!("{rows} rows of {} in {:.1?}", path.display(), began.elapsed());
    for field in table.schema().fields() {
        println!("  {}: {}", field.name(), field.data_type());
    }
    if given.is_none() {
        std::fs::remove_file(&path)?;
        let mut batch = Batch::new();
        let code =
            batch.query(Query::rows(Filter::all().equals("code", "01869F"), ["name", "carrier", "day"]));
        let dear = Filter::all().equals("carrier", "LX").between("fare", 899.0..);
        let dear = batch.query(Query::aggregates(dear, [Aggregate::Count, Aggregate::Max("name".into())]));
        let answers = table.run(&rt, batch)?;
        println!("{:#?}\n{:#?}", answers.rows(code)?, answers.rows(dear)?);
        // Each booking has three passengers.
        assert_eq!(answers.rows(code)?.num_rows(), 3);
    }
    Ok(())
}
