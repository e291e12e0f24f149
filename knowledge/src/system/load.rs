//! What the CPUs are doing, from two looks at what they have done.

use super::stat::{self, CpuTicks, ThreadTicks};
use super::{System, Unreadable};
use crate::facts::{CpuLoad, Load};
use std::collections::BTreeMap;
use std::time::Instant;

/// One look at what the CPUs and the threads of this process have done so far.
#[derive(Clone, Debug)]
pub struct Sample {
    at: Instant,
    cpus: BTreeMap<u32, CpuTicks>,
    threads: BTreeMap<u32, ThreadTicks>,
    /// All threads together, those included that have ended.
    process: Option<ThreadTicks>,
}

/// Looks at what the CPUs are doing, again and again.
#[derive(Clone, Debug)]
pub struct Watch {
    system: System,
    last: Sample,
}

impl System {
    /// One look; two of them give the load between: [`Load::between`].
    ///
    /// # Errors
    /// `/proc/stat` or the list of this process's threads is not there. Without the latter, its own work would be taken
    /// for that of strangers.
    pub fn sample(&self) -> Result<Sample, Unreadable> {
        let text = |path: &str| {
            self.root
                .text(path)
                .map_err(Unreadable)?
                .ok_or_else(|| Unreadable(format!("`{path}` is missing")))
        };
        let at = Instant::now();
        let thread = |id: u32| {
            // It may have ended.
            let text = self.root.text(&format!("/proc/self/task/{id}/stat")).ok()??;
            Some((id, stat::thread(&text)?))
        };
        let threads: BTreeMap<_, _> =
            self.root.numbered("/proc/self/task", "").into_iter().filter_map(thread).collect();
        if threads.is_empty() {
            return Err(Unreadable("`/proc/self/task` tells of no thread".to_string()));
        }
        let process = text("/proc/self/stat").ok().and_then(|text| stat::thread(&text));
        let cpus = stat::cpus(&text("/proc/stat")?);
        if cpus.is_empty() {
            return Err(Unreadable("`/proc/stat` tells of no CPU".to_string()));
        }
        Ok(Sample { at, cpus, threads, process })
    }

    /// Begins to look at the load.
    ///
    /// # Errors
    /// As [`System::sample`].
    pub fn watch(&self) -> Result<Watch, Unreadable> {
        Ok(Watch { system: self.clone(), last: self.sample()? })
    }
}

impl Watch {
    /// The load since the last time, or since the beginning. The system counts in ticks of mostly 10 ms: with less than
    /// 100 ms in between, shares are rough.
    ///
    /// # Errors
    /// As [`System::sample`].
    pub fn load(&mut self) -> Result<Load, Unreadable> {
        let now = self.system.sample()?;
        let load = Load::between(&self.last, &now);
        self.last = now;
        Ok(load)
    }
}

impl Load {
    /// What the CPUs did between two looks of the same process.
    ///
    /// A CPU that was not there at both, or whose clock did not tick, is left out. Counters that went backwards, as some do
    /// when CPUs come and go, count as having stood still.
    ///
    /// Of our own threads it is known how long each ran and on which CPU at last: if that is another than before, half of
    /// the time is taken to be on each. What threads did that ended in between goes to the CPUs where they had been seen;
    /// if none had been seen, it is taken for that of others.
    pub fn between(before: &Sample, after: &Sample) -> Self {
        let mut spans: BTreeMap<u32, Span> = BTreeMap::new();
        for (&cpu, now) in &after.cpus {
            let span = before.cpus.get(&cpu).map(|then| Span::between(then, now));
            spans.extend(span.filter(|span| span.total > 0).map(|span| (cpu, span)));
        }
        let mut known = 0;
        for (id, now) in &after.threads {
            let then = before.threads.get(id).filter(|then| then.started == now.started);
            let then = then.copied().unwrap_or(ThreadTicks { cpu: now.cpu, ..ThreadTicks::default() });
            let user = now.user.saturating_sub(then.user);
            let system = now.system.saturating_sub(then.system);
            known += user + system;
            spread(&mut spans, user, now.nice, [then.cpu, now.cpu]);
            spread(&mut spans, system, false, [then.cpu, now.cpu]);
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
                spread(&mut spans, each, thread.nice, [thread.cpu; 2]);
            }
        }
        let span = after.at.saturating_duration_since(before.at);
        Self { span, cpus: spans.into_iter().map(|(cpu, span)| span.load(cpu)).collect() }
    }
}

/// What a CPU did between two looks, in ticks.
struct Span {
    total: u64,
    /// What remains of it for others once our own is taken out.
    common: u64,
    nice: u64,
    steal: u64,
    own: u64,
}

impl Span {
    fn between(then: &CpuTicks, now: &CpuTicks) -> Self {
        let common = now.common.saturating_sub(then.common);
        let nice = now.nice.saturating_sub(then.nice);
        let steal = now.steal.saturating_sub(then.steal);
        let idle = now.idle.saturating_sub(then.idle);
        Self { total: common + nice + steal + idle, common, nice, steal, own: 0 }
    }

    /// Takes `ticks` for our own, as far as the CPU was busy in this way; returns the rest.
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

/// Takes `ticks` for our own, half on each of the two CPUs; what does not fit on one of them is tried on the other.
fn spread(spans: &mut BTreeMap<u32, Span>, ticks: u64, nice: bool, [then, now]: [u32; 2]) {
    let mut own = |cpu: u32, ticks: u64| spans.get_mut(&cpu).map_or(ticks, |span| span.own(ticks, nice));
    let half = ticks / 2;
    let rest = own(then, half) + own(now, ticks - half);
    let rest = own(then, rest);
    own(now, rest);
}
