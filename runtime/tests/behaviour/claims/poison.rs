//! Tasks that panic with granules in their hands.

use super::{granules_of, settings, under_each};
use crate::common::silence_tasks;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use xtasking::{Control, JoinError};

#[test]
fn a_panic_poisons_what_was_written_and_nothing_else() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 4]);
        let claim = granules.write(1..3).and_read(0..1);
        let bomb = rt.task(()).claim(claim).submit_with(|(), mut held, _| {
            *held.get_mut(1) = 7;
            panic!("provoked");
        });
        // One that stands in line behind it fails as those that come later. (Without lines it might come before it.)
        let behind = || rt.task(()).claim(granules.read(2..3)).submit_with(|(), held, _| *held.get(2));
        let early = (control == Control::Lines).then(behind);
        assert!(matches!(bomb.join(), Err(JoinError::Panicked(_))));
        assert!(matches!(early.unwrap_or_else(behind).join(), Err(JoinError::Poisoned)));
        assert_eq!([0, 1, 2, 3].map(|at| granules.is_poisoned(at)), [false, true, true, false]);
        let read = |range| rt.task(()).claim(granules.read(range)).submit_with(|(), _, _| ()).join();
        assert!(matches!(read(1..2), Err(JoinError::Poisoned)));
        assert!(matches!(read(0..4), Err(JoinError::Poisoned)));
        assert!(read(0..1).is_ok() && read(3..4).is_ok());
        // Whether it would see the data or not.
        let blind = rt.task(()).claim(granules.write(2..4)).submit(|(), _| ());
        assert!(matches!(blind.join(), Err(JoinError::Poisoned)));
        assert!(!granules.is_poisoned(3), "a task that did not run poisons nothing");
        granules.clear_poison();
        let sum =
            rt.task(()).claim(granules.read(0..4)).submit_with(|(), held, _| *held.get(1) + *held.get(2));
        assert_eq!(sum.join().unwrap(), 7);
    });
}

#[test]
fn a_panic_of_who_did_not_see_the_data_or_only_read_them_does_no_harm() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 2]);
        let blind = rt.task(()).claim(granules.write(0..2)).submit(|(), _| panic!("provoked"));
        assert!(matches!(blind.join(), Err(JoinError::Panicked(_))));
        let reader = rt
            .task(())
            .claim(granules.read(0..2))
            .submit_with(|(), held, _| assert!(*held.get(0) == 1, "provoked"));
        assert!(matches!(reader.join(), Err(JoinError::Panicked(_))));
        rt.task(()).claim(granules.write(0..2)).submit_with(|(), _, _| ()).join().unwrap();
    });
}

/// A plan does not see what a panic has left half written, and its task fails for that, not by the plan.
#[test]
fn what_is_poisoned_is_shown_to_no_plan() {
    silence_tasks();
    under_each(settings(), |setting, control| {
        let rt = setting.build();
        let granules = granules_of(&rt, control, [0u32; 2]);
        let bomb = rt.task(()).claim(granules.write(0..1)).submit_with(|(), mut held, _| {
            *held.get_mut(0) = 99;
            panic!("provoked");
        });
        let _ = bomb.join();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let claim = granules.planned(move |sight| {
            counted.fetch_add(1, Relaxed);
            let seen = sight.see(1, |&next| next).and_then(|next| sight.see(next, |&half| half));
            assert!(seen.is_none(), "provoked: nobody should see that");
        });
        let task = rt.task(()).claim(claim).submit_with(|(), _, _| ());
        assert!(matches!(task.join(), Err(JoinError::Poisoned)));
        assert!(asked.load(Relaxed) >= 2);
    });
}
