//! Pressure stall information.

use super::survey::Survey;
use crate::facts::{Pressure, Stall, Stalls};

/// Reads the pressure; missing files are gaps.
pub(super) fn pressure(survey: &mut Survey<'_>) -> Pressure {
    let mut of = |what: &str| {
        let about = format!("pressure on {what}");
        let path = format!("/proc/pressure/{what}");
        let text = survey.required(&about, &path)?;
        survey.parse_or_gap(&about, &path, "pressure", &text, stalls)
    };
    Pressure { cpu: of("cpu"), memory: of("memory"), io: of("io") }
}

/// Parses lines such as `some avg10=4.84 avg60=1.80 avg300=10.05 total=29035657512`.
fn stalls(text: &str) -> Option<Stalls> {
    let line = |kind: &str| text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
    // Older kernels do not report `full` for CPUs.
    let full = match line("full") {
        Some(full) => Some(stall(full)?),
        None => None,
    };
    Some(Stalls { some: stall(line("some")?)?, full })
}

fn stall(line: &str) -> Option<Stall> {
    let percent = |name: &str| {
        let value = line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
        value.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))
    };
    Some(Stall { avg10: percent("avg10")?, avg60: percent("avg60")?, avg300: percent("avg300")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_parsed() {
        let some = "some avg10=4.84 avg60=1.80 avg300=10.05 total=29035657512\n";
        let full = "full avg10=0.00 avg60=0.50 avg300=100.00 total=0\n";
        let Stalls { some: stall, full: none } = stalls(some).unwrap();
        assert_eq!((stall, none), (Stall { avg10: 4.84, avg60: 1.8, avg300: 10.05 }, None));
        let both = stalls(&format!("{some}{full}")).unwrap();
        assert_eq!(both.full, Some(Stall { avg10: 0.0, avg60: 0.5, avg300: 100.0 }));
        for wrong in [
            "",
            full,
            "some avg10=4.84",
            "some avg10=NaN avg60=1 avg300=1",
            "some avg10=101 avg60=1 avg300=1",
        ] {
            assert_eq!(stalls(wrong), None, "{wrong}");
        }
    }
}
