//! Starts competitors: processes that burn all the time of a CPU.

use clap::Args;
use std::env;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use xtasking_harness::failure::Failure;

/// The hidden command of a competitor: this program again, which burns a CPU's time until its
/// standard input ends.
#[derive(Clone, Debug, Args)]
pub struct Burn {
    /// The CPU
    #[arg(long)]
    cpu: usize,
}

/// Burns a CPU's time. The parent closes this process's input when it ends in any way, which ends
/// this process.
pub fn burn(options: &Burn) -> Result<(), Failure> {
    if !core_affinity::set_for_current(core_affinity::CoreId { id: options.cpu }) {
        return Err(Failure::Usage(format!("--cpu: this process may not run on CPU {}", options.cpu)));
    }
    let mut out = io::stdout().lock();
    let written = writeln!(out, "burning").and_then(|()| out.flush());
    written.map_err(|error| Failure::Output(error.to_string()))?;
    let waits = thread::spawn(|| io::stdin().lock().read_to_end(&mut Vec::new()));
    let mut round = 0u64;
    while !waits.is_finished() {
        // A few microseconds.
        (0..10_000).for_each(|step| round = black_box(round.wrapping_mul(31) ^ step));
    }
    Ok(())
}

/// Competitors that run until this is dropped.
pub(super) struct Competitors(Vec<Child>);

impl Competitors {
    /// Starts `count` of them on one CPU. All are running on return.
    pub(super) fn start(count: usize, cpu: u32) -> Result<Self, Failure> {
        let mut competitors = Self(Vec::new());
        let failed = |error: &dyn std::fmt::Display| Failure::Usage(format!("--competitors: {error}"));
        let program = env::current_exe().map_err(|error| failed(&error))?;
        for _ in 0..count {
            let mut command = Command::new(&program);
            command.args(["burn", "--cpu", &cpu.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().map_err(|error| failed(&error))?;
            let out = child.stdout.take();
            competitors.0.push(child);
            let mut line = String::new();
            let read = out.map(|out| BufReader::new(out).read_line(&mut line));
            if line != "burning\n" {
                return Err(failed(&format!("a competitor did not start: {read:?}")));
            }
        }
        Ok(competitors)
    }
}

impl Drop for Competitors {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.stdin.take());
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
