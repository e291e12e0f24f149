//! Random files: commands on shards of several workers run side by side, and the store has then
//! what it has if they run one after the other.

use super::drawn::{Draw, builder, contents, run};
use super::load;
use super::whole::file;
use xtasking::Runtime;
use xtasking_storage::SimulatedDisk;
use xtasking_store::Engine;
use xtasking_store::aof::AofEnd;
use xtasking_store::log::Options;
use xtasking_testing::{Random, watchdog};

const NOW: u64 = 1_000_000_000;

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().expect("a runtime")
}

/// Draws commands, runs them one after the other, and returns those without an error, as Redis
/// would write them. Picks by chance are left out, as Redis writes what was picked, and so is what
/// Redis has not.
fn draw(engine: &Engine, seed: u64, several: u64) -> Vec<Vec<String>> {
    let mut draw = Draw { random: Random(seed), several };
    let (mut client, mut units) = (engine.client(), Vec::new());
    for _ in 0..1500 {
        let mut unit = draw.unit();
        let is_kept = |line: &String| match line.split(' ').next() {
            Some("MULTI" | "EXEC") => true,
            Some("SPOP" | "RANGEDEL") => false,
            _ => !run(&mut client, line).starts_with('-'),
        };
        unit.retain(is_kept);
        units.extend((!unit.is_empty()).then_some(unit));
    }
    units
}

fn bytes_of(units: &[Vec<String>]) -> Vec<u8> {
    let lines: Vec<&str> = units.iter().flatten().map(String::as_str).collect();
    file(&lines)
}

#[test]
fn a_random_file_gives_what_its_commands_give() {
    let (one, four) = (runtime(1), runtime(4));
    for seed in 0..12 {
        let _watched = watchdog();
        let reference = builder().clock(|| NOW).build(&one);
        let file = bytes_of(&draw(&reference, seed, [1, 5, 40, 400][seed as usize % 4]));
        let expected = contents(&reference);
        for rt in [&one, &four] {
            let disk = SimulatedDisk::new(seed);
            let open = || builder().clock(|| NOW).log(disk.clone(), Options::default()).open(rt).unwrap();
            let engine = open();
            assert_eq!(load(&engine, &file, AofEnd::Whole).unwrap().torn, 0);
            assert_eq!(contents(&engine), expected, "seed {seed}, {} workers", rt.workers());
            // The log has all of it too.
            engine.log().unwrap().close().unwrap();
            drop(engine);
            assert_eq!(contents(&open()), expected, "seed {seed}, {} workers, a start", rt.workers());
        }
    }
}

/// Side by side with it others may be refused, and may come to it before.
#[test]
fn the_error_names_the_first_command_that_is_refused() {
    let (one, four) = (runtime(1), runtime(4));
    let mut random = Random(7);
    for seed in 0..8 {
        let _watched = watchdog();
        let several = [1, 20][seed as usize % 2];
        let mut units = draw(&builder().clock(|| NOW).build(&one), seed, several);
        for number in 0..6 {
            let wrong = vec![format!("INCRBYFLOAT t:{number} x")];
            units.insert(random.below(units.len() as u64) as usize, wrong);
        }
        let is_wrong = |unit: &Vec<String>| unit[0].starts_with("INCRBYFLOAT");
        let first = units.iter().position(is_wrong).expect("there are some");
        let offset = bytes_of(&units[..first]).len() as u64;
        for rt in [&one, &four] {
            let engine = builder().clock(|| NOW).build(rt);
            let error = load(&engine, &bytes_of(&units), AofEnd::Whole).unwrap_err();
            assert_eq!(error.offset, offset, "seed {seed}, {} workers: {error}", rt.workers());
            assert!(error.to_string().contains("not a valid float"), "{error}");
        }
    }
}
