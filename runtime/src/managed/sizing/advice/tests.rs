use super::*;

/// Returns the share of the time for which a load with this mean does not exceed the number of
/// workers.
fn share(mean: f64, workers: usize) -> f64 {
    let mut weight = (-mean).exp();
    let mut sum = weight;
    for number in 1..=workers {
        weight *= mean / number as f64;
        sum += weight;
    }
    sum
}

#[test]
fn the_least_number_of_workers_that_suffices_is_chosen() {
    for wanted in [SUFFICIENT_SHARE, GENEROUS_SHARE] {
        let mut last = 1;
        for step in 0..6000 {
            let mean = f64::from(step) / 10.0;
            let workers = workers_for(mean, wanted, usize::MAX);
            assert!(workers >= last && workers as f64 >= mean, "{workers} for {mean}");
            assert!(share(mean, workers) >= wanted - 1e-9, "{workers} for {mean}");
            assert!(workers == 1 || share(mean, workers - 1) < wanted + 1e-9, "{workers} for {mean}");
            last = workers;
        }
    }
    assert_eq!(
        [0.0, 0.5, 1.0, 3.0].map(|mean| workers_for(mean, SUFFICIENT_SHARE, usize::MAX)),
        [1, 1, 2, 4]
    );
    assert_eq!([0.0, 0.5, 1.0, 3.0].map(|mean| workers_for(mean, GENEROUS_SHARE, usize::MAX)), [1, 2, 3, 6]);
    assert_eq!((workers_for(1e300, SUFFICIENT_SHARE, 7), workers_for(6.9, SUFFICIENT_SHARE, 7)), (7, 7));
    assert_eq!(workers_for(f64::INFINITY, SUFFICIENT_SHARE, usize::MAX), MAX_HOMES);
}

const SECOND: Duration = Duration::from_secs(1);

/// A second in which `busy` workers of `size` were busy with tasks of 10 ms, and `left` tasks were
/// left.
fn second(size: usize, busy: f64, left: u64) -> (Sample, Sample) {
    let before =
        Sample { elapsed: SECOND, size, spawned: 70, finished: 70, busy: SECOND, ..Sample::default() };
    let finished = (100.0 * busy) as u64;
    let now = Sample {
        elapsed: 2 * SECOND,
        spawned: 70 + finished + busy.round() as u64 + left,
        finished: 70 + finished,
        busy: SECOND + SECOND.mul_f64(busy),
        ..before
    };
    (before, now)
}

fn advice(size: usize, busy: f64, left: u64, within: RangeInclusive<usize>) -> Advice {
    let (before, now) = second(size, busy, left);
    Advice::of(&before, &now, &within)
}

#[test]
fn the_advice_follows_from_the_load() {
    let advised = |size, busy, left| {
        let advice = advice(size, busy, left, 1..=8);
        (advice.reason, advice.workers)
    };
    assert_eq!(advised(1, 0.5, 0), (Reason::Enough, 1));
    assert_eq!(advised(1, 0.9, 0), (Reason::Saturated, 2));
    assert_eq!(advised(1, 1.0, 200), (Reason::Saturated, 4));
    assert_eq!(advised(1, 1.0, 100_000), (Reason::Saturated, 8));
    assert_eq!(advised(8, 8.0, 100_000), (Reason::AtMost, 8));
    assert_eq!(advised(8, 7.0, 0), (Reason::AtMost, 8));
    assert_eq!(advised(8, 3.0, 0), (Reason::Spare, 6));
    assert_eq!(advised(8, 0.0, 0), (Reason::Spare, 1));
    // All tasks have the same home.
    assert_eq!(advised(3, 1.0, 1000), (Reason::Uneven, 3));
    assert_eq!(advised(8, 1.0, 1000), (Reason::Spare, 3));
    let bounded = |size, busy| {
        let advice = advice(size, busy, 0, 3..=4);
        (advice.reason, advice.workers)
    };
    assert_eq!([bounded(3, 0.1), bounded(4, 9.0)], [(Reason::AtLeast, 3), (Reason::AtMost, 4)]);
    assert_eq!([bounded(1, 0.1), bounded(9, 2.0)], [(Reason::AtLeast, 3), (Reason::Spare, 4)]);
}

/// Tasks come in bulk.
#[test]
fn long_waiting_times_are_worth_more_workers() {
    let advised = |size, busy, waited: u32| {
        let (before, now) = second(size, busy, 0);
        let begun = 100;
        let waited = begun * (waited * Duration::from_millis(10)).as_nanos() as u64;
        let now = Sample { begun, waited: u128::from(waited), ..now };
        let advice = Advice::of(&before, &now, &(1..=8));
        (advice.reason, advice.workers)
    };
    assert_eq!(advised(1, 0.5, 4), (Reason::Enough, 1));
    assert_eq!(advised(1, 0.5, 12), (Reason::Slow, 3));
    // The tasks wait for four times their running time, and the number stays.
    assert_eq!(advised(3, 0.5, 4), (Reason::Enough, 3));
    assert_eq!(advised(6, 0.5, 2), (Reason::Enough, 6));
    assert_eq!(advised(8, 0.5, 1), (Reason::Spare, 4));
    assert_eq!(advised(8, 0.5, 10), (Reason::AtMost, 8));
    // There are hardly any tasks.
    let (before, now) = second(1, 0.05, 0);
    let now = Sample { begun: 5, waited: 900_000_000, ..now };
    assert_eq!(Advice::of(&before, &now, &(1..=8)).reason, Reason::Enough);
}

#[test]
fn an_unusable_span_changes_nothing() {
    let (before, now) = second(5, 0.0, 0);
    let unknown = |before: &Sample, now: &Sample| {
        let advice = Advice::of(before, now, &(1..=8));
        assert_eq!((advice.reason, advice.workers), (Reason::Unknown, now.size));
    };
    unknown(&now, &now);
    // The later sample comes first.
    unknown(&now, &before);
    unknown(&Sample { size: 4, ..before }, &now);
}

#[test]
fn an_unfinished_task_counts_with_its_running_time() {
    let before = Sample { size: 1, ..Sample::default() };
    let now = Sample { elapsed: SECOND, spawned: 4, busy: SECOND, ..before };
    let advice = Advice::of(&before, &now, &(1..=8));
    assert_eq!((advice.running, advice.waiting, advice.load), (SECOND, 3, 4.0));
    assert_eq!((advice.reason, advice.workers), (Reason::Saturated, 6));
}

#[test]
fn the_bounds_hold_for_any_counts() {
    let mut state = 1u64;
    let mut random = |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    for _ in 0..20_000 {
        let mut reading = || Sample {
            elapsed: Duration::from_nanos(random(3) * random(1 << 30)),
            size: 1 + random(9) as usize,
            spawned: random(2) * random(1 << 30),
            finished: random(2) * random(1 << 30),
            busy: Duration::from_nanos(random(3) * random(1 << 31)),
            waited: u128::from(random(1 << 20)),
            begun: random(1 << 10),
        };
        let (before, now) = (reading(), reading());
        let (fewest, most) = (random(10) as usize, random(10) as usize);
        let advice = Advice::of(&before, &now, &(fewest..=most));
        assert_eq!(advice, Advice::of(&before, &now, &(fewest..=most)));
        if advice.reason == Reason::Unknown {
            assert_eq!(advice.workers, now.size);
        } else {
            let fewest = fewest.max(1);
            assert!((fewest..=most.max(fewest)).contains(&advice.workers), "{advice}");
            assert!(advice.least <= advice.most && advice.load.is_finite(), "{advice}");
        }
    }
}

#[test]
fn advice_is_displayed_in_one_line() {
    let text = alloc::format!("{}", advice(1, 1.0, 200, 1..=8));
    assert_eq!(
        text,
        "4 workers (now 1): all were busy, and tasks waited; 1.00 busy, a load of 3.00 for 4 to 6; \
         in 1.0s 301 tasks spawned and 100 finished, running 10.0ms and waiting 0.0ns each, 200 waiting now"
    );
}
