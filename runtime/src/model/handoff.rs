//! A hand-off cell: what is put in is taken out once, with its contents.

use super::{Watched, model};
use crate::sync::HandoffCell;
use core::ptr::NonNull;
use loom::thread;
use std::sync::Arc;

#[test]
fn a_thing_is_taken_once_with_its_contents() {
    model(3, || {
        let (cell, thing) = (Arc::new(HandoffCell::<Watched>::default()), Arc::new(Watched::new(0)));
        let takers = [(); 2].map(|()| {
            let (cell, thing) = (cell.clone(), thing.clone());
            thread::spawn(move || {
                let taken = cell.take().is_some();
                if taken {
                    assert_eq!(thing.get(), 1);
                    thing.set(2);
                }
                taken
            })
        });
        thing.set(1);
        cell.put(NonNull::from(&*thing));
        let taken = takers.map(|taker| taker.join().unwrap());
        let left = cell.take().is_some();
        assert_eq!(taken.into_iter().chain([left]).filter(|&taken| taken).count(), 1);
    });
}
