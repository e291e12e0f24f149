//! A type for which `Version` is derived changes by words only.
//!
//! refused mutex: error[E0277]: `std::sync::Mutex<u64>` cannot be a field of a versioned type
//! refused atomic: error[E0277]: `AtomicU64` cannot be a field of a versioned type
//! refused nested: error[E0277]: `Other` cannot be a field of a versioned type
//! refused generic: error[E0277]: `T` cannot be a field of a versioned type
//! refused in_a_variant: error[E0277]: `std::sync::RwLock<()>` cannot be a field of a versioned
//!     type
//! refused attribute: error: the attribute of a field is `#[version(unchecked)]`
//! refused fields: error: a variant with fields does not fit into a word
//! refused other_value: error[E0308]: mismatched types

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, RwLock};
use xtasking::arena::{AsWord, Field, LinkCell, OptionalLink, VersionField};
use xtasking::{Runtime, Version, Word};

/// Derives nothing.
pub struct Other;

#[derive(AsWord, Clone, Copy, PartialEq)]
pub enum State {
    Empty,
    Full,
}

#[derive(AsWord, Clone, Copy)]
pub enum Amount {
    None,
    #[cfg(refused = "fields")]
    Some(u8),
}

#[derive(Version, Default)]
pub struct Inner {
    state: [Word; 2],
    text: String,
}

#[derive(Version)]
pub struct Node<T: VersionField> {
    key: (u64, &'static str),
    inner: Option<Inner>,
    state: Field<State>,
    next: [OptionalLink<Node<T>>; 2],
    last: Option<LinkCell<Inner>>,
    value: Box<[T]>,
    #[cfg(refused = "mutex")]
    count: Mutex<u64>,
    #[cfg(refused = "atomic")]
    count: Option<AtomicU64>,
    #[cfg(refused = "nested")]
    other: Other,
    #[version(unchecked)]
    trusted: (Mutex<u64>, Option<AtomicU64>, RwLock<()>, Option<Other>),
    #[cfg(refused = "attribute")]
    #[version(unknown)]
    word: Word,
}

#[cfg(not(refused = "generic"))]
#[derive(Version)]
pub struct Pair<T: VersionField>(T, T);
#[cfg(refused = "generic")]
#[derive(Version)]
pub struct Pair<T: Send + Sync + 'static>(T, Word);

#[derive(Version)]
pub enum Kind {
    Leaf([Word; 4]),
    Inner { left: OptionalLink<Kind>, right: OptionalLink<Kind> },
    #[cfg(refused = "in_a_variant")]
    Locked(RwLock<()>),
    None,
}

fn main() {
    let rt = Runtime::new().unwrap();
    let object = rt.versioned(Inner::default()).build();
    let state = rt.versioned(State2(Field::new(State::Empty))).build();
    rt.task(state.write()).spawn(|state, _| {
        state.0.set(State::Full, state.token());
        #[cfg(refused = "other_value")]
        state.0.set(true, state.token());
    });
    rt.task(object.read()).spawn(|inner, _| assert!(inner.text.is_empty() && inner.state[0].get() == 0));
}

#[derive(Version)]
struct State2(Field<State>);
