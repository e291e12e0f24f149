//! The load of the CPUs, from two samples of the kernel's counters.

use super::proc_stat::{self, CpuTicks, ThreadTicks};
use super::{System, Unreadable};
use crate::facts::{CpuLoad, Load};
use std::collections::BTreeMap;
use std::time::Instant;

/// A sample of the counters of the CPUs and of this process's threads.
#[derive(Clone, Debug)]
pub struct Sample {
    at: Instant,
    cpus: BTreeMap<u32, CpuTicks>,
    threads: BTreeMap<u32, ThreadTicks>,
    /// The whole process, including threads that have ended.
    process: Option<ThreadTicks>,
}

/// Measures the load of the CPUs repeatedly.
#[derive(Clone, Debug)]
pub struct Watch {
    system: System,
    last: Sample,
}

impl System {
    /// Takes a sample; [`Load::between`] computes the load between two of them.
    ///
    /// # Errors
    /// If `/proc/stat` or the list of this process's threads cannot be read. Without the threads,
    /// the load of this process would count as that of others.
    pub fn sample(&self) -> Result<Sample, Unreadable> {
        let text = |path: &str| {
            self.root
                .text(path)
                .map_err(Unreadable)?
                .ok_or_else(|| Unreadable(format!("`{path}` is missing")))
        };
        let at = Instant::now();
        let thread = |id: u32| {
            // The thread may have ended.
            let text = self.root.text(&format!("/proc/self/task/{id}/stat")).ok()??;
            Some((id, proc_stat::thread(&text)?))
        };
        let threads: BTreeMap<_, _> =
            self.root.numbered_entries("/proc/self/task", "").into_iter().filter_map(thread).collect();
        if threads.is_empty() {
            return Err(Unreadable("`/proc/self/task` lists no thread".to_string()));
        }
        let process = text("/proc/self/stat").ok().and_then(|text| proc_stat::thread(&text));
        let cpus = proc_stat::cpus(&text("/proc/stat")?);
        if cpus.is_empty() {
            return Err(Unreadable("`/proc/stat` lists no CPU".to_string()));
        }
        Ok(Sample { at, cpus, threads, process })
    }

    /// Starts measuring the load.
    ///
    /// # Errors
    /// As for [`System::sample`].
    pub fn watch(&self) -> Result<Watch, Unreadable> {
        Ok(Watch { system: self.clone(), last: self.sample()? })
    }
}

impl Watch {
    /// Returns the load since the last call, or since the start. The kernel counts in ticks, mostly
    /// of 10 ms; below 100 ms, shares are imprecise.
    ///
    /// # Errors
    /// As for [`System::sample`].
    pub fn load(&mut self) -> Result<Load, Unreadable> {
        let now = self.system.sample()?;
        let load = Load::between(&self.last, &now);
        self.last = now;
        Ok(load)
    }
}

impl Load {
    /// Computes the load between two samples of the same process.
    ///
    /// A CPU that is missing in one sample, or whose counters did not advance, is left out.
    /// Counters that went backwards, as some do when CPUs come and go, count as unchanged.
    ///
    /// Of each thread of this process, the kernel reports its time and its last CPU. If the CPU
    /// changed, each of the two gets half of the time. The time of threads that ended in between
    /// goes to their last known CPUs; without one, it counts as that of others.
    pub fn between(before: &Sample, after: &Sample) -> Self {
        let mut spans: BTreeMap<u32, CpuInterval> = BTreeMap::new();
        for (&cpu, now) in &after.cpus {
            let span = before.cpus.get(&cpu).map(|then| CpuInterval::between(then, now));
            spans.extend(span.filter(|span| span.total > 0).map(|span| (cpu, span)));
        }
        let mut known = 0;
        for (id, now) in &after.threads {
            let then = before.threads.get(id).filter(|then| then.started == now.started);
            let then = then.copied().unwrap_or(ThreadTicks { cpu: now.cpu, ..ThreadTicks::default() });
            let user = now.user.saturating_sub(then.user);
            let system = now.system.saturating_sub(then.system);
            known += user + system;
            attribute(&mut spans, user, now.nice, [then.cpu, now.cpu]);
            attribute(&mut spans, system, false, [then.cpu, now.cpu]);
        }
        let goes_on = |id: &u32, then: &ThreadTicks| {
            after.threads.get(id).is_some_and(|now| now.started == then.started)
        };
        let ended: Vec<_> =
            before.threads.iter().filter(|(id, then)| !goes_on(id, then)).map(|(_, then)| then).collect();
        if let (Some(then), Some(now)) = (before.process, after.process)
            && !ended.is_empty()
        {
            let all = (now.user + now.system).saturating_sub(then.user + then.system);
            let each = all.saturating_sub(known) / ended.len() as u64;
            for thread in ended {
                attribute(&mut spans, each, thread.nice, [thread.cpu; 2]);
            }
        }
        let span = after.at.saturating_duration_since(before.at);
        Self { span, cpus: spans.into_iter().map(|(cpu, span)| span.load(cpu)).collect() }
    }
}

/// The ticks of a CPU between two samples.
struct CpuInterval {
    total: u64,
    /// Ticks at normal priority, less those of this process.
    common: u64,
    nice: u64,
    steal: u64,
    own: u64,
}

impl CpuInterval {
    fn between(then: &CpuTicks, now: &CpuTicks) -> Self {
        let common = now.common.saturating_sub(then.common);
        let nice = now.nice.saturating_sub(then.nice);
        let steal = now.steal.saturating_sub(then.steal);
        let idle = now.idle.saturating_sub(then.idle);
        Self { total: common + nice + steal + idle, common, nice, steal, own: 0 }
    }

    /// Moves up to `ticks` from others to this process; returns the rest.
    fn own(&mut self, ticks: u64, nice: bool) -> u64 {
        let from = if nice { &mut self.nice } else { &mut self.common };
        let taken = ticks.min(*from);
        *from -= taken;
        self.own += taken;
        ticks - taken
    }

    fn load(&self, cpu: u32) -> CpuLoad {
        let share = |ticks: u64| (ticks as f64 / self.total as f64).clamp(0.0, 1.0);
        CpuLoad {
            cpu,
            own: share(self.own),
            others: share(self.common),
            nice: share(self.nice),
            steal: share(self.steal),
        }
    }
}

/// Attributes `ticks` to this process, half on each of two CPUs. What does not fit on one is tried
/// on the other.
fn attribute(spans: &mut BTreeMap<u32, CpuInterval>, ticks: u64, nice: bool, [then, now]: [u32; 2]) {
    let mut own = |cpu: u32, ticks: u64| spans.get_mut(&cpu).map_or(ticks, |span| span.own(ticks, nice));
    let half = ticks / 2;
    let rest = own(then, half) + own(now, ticks - half);
    let rest = own(then, rest);
    own(now, rest);
}
