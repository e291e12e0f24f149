//! Competitors: processes that want all of a CPU.

use crate::failure::Failure;
use clap::Args;
use std::env;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;

/// What a competitor is: this program again, told to burn a CPU's time until its standard input ends.
#[derive(Clone, Debug, Args)]
pub struct Burn {
    /// The CPU
    #[arg(long)]
    cpu: usize,
}

/// Burns a CPU's time. Whoever has started this lets go of its input in any case, so it ends with them.
pub fn burn(options: &Burn) -> Result<(), Failure> {
    if !core_affinity::set_for_current(core_affinity::CoreId { id: options.cpu }) {
        return Err(Failure::Usage(format!("--cpu: this process may not run on CPU {}", options.cpu)));
    }
    let mut out = io::stdout().lock();
    let told = writeln!(out, "burning").and_then(|()| out.flush());
    told.map_err(|error| Failure::Output(error.to_string()))?;
    let waits = thread::spawn(|| io::stdin().lock().read_to_end(&mut Vec::new()));
    let mut round = 0u64;
    while !waits.is_finished() {
        // Some microseconds.
        (0..10_000).for_each(|step| round = black_box(round.wrapping_mul(31) ^ step));
    }
    Ok(())
}

/// Competitors that are at work until this is dropped.
pub(super) struct Hogs(Vec<Child>);

impl Hogs {
    /// So many of them on one CPU. All are at work when this returns.
    pub(super) fn start(count: usize, cpu: u32) -> Result<Self, Failure> {
        let mut hogs = Self(Vec::new());
        let failed = |error: &dyn std::fmt::Display| Failure::Usage(format!("--competitors: {error}"));
        let program = env::current_exe().map_err(|error| failed(&error))?;
        for _ in 0..count {
            let mut command = Command::new(&program);
            command.args(["burn", "--cpu", &cpu.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().map_err(|error| failed(&error))?;
            let out = child.stdout.take();
            hogs.0.push(child);
            let mut line = String::new();
            let read = out.map(|out| BufReader::new(out).read_line(&mut line));
            if line != "burning\n" {
                return Err(failed(&format!("one did not begin: {read:?}")));
            }
        }
        Ok(hogs)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.stdin.take());
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
