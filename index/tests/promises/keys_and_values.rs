//! Types of keys, values and layouts that do not suit, and what to do about it.
//!
//! refused float_key: error[E0277]: `f64` cannot be a key
//! says float_key: implement `WordKey` for a type that 64 bits can encode in its order
//! refused own_key: error[E0277]: `Profile` cannot be a key
//! refused own_value: error[E0277]: `Profile` cannot be a value
//! says own_value: add `impl Value for Profile { type Form = OnHeap; }`
//! refused map_value: error[E0277]: `Profile` is not a value in a word
//! says map_value: a `HashMap` has such values only; a `Tree` has others as well
//! refused form: error[E0277]: `Name` is not a value in a word
//! says form: a `Tree` has others as well, by `type Form = OnHeap`
//! refused values_of_another_type: error[E0308]: mismatched types
//! refused layout: error[E0277]: `Profile` is not a layout of nodes
//! says layout: layouts are `HintedNode` and `SortedNode`

use xtasking::Runtime;
use xtasking_index::{DefaultLayout, HashMap, InPlace, OnHeap, Tree, Value};

#[derive(Clone)]
struct Profile;

#[derive(Clone)]
struct Name(String);
impl Value for Name {
    #[cfg(refused = "form")]
    type Form = InPlace;
    #[cfg(not(refused = "form"))]
    type Form = OnHeap;
}

fn main() {
    let rt = Runtime::new().unwrap();
    #[cfg(refused = "float_key")]
    let _tree: Tree<f64, u64> = Tree::new(&rt);
    #[cfg(refused = "own_key")]
    let _tree: Tree<Profile, u64> = Tree::new(&rt);
    let _tree: Tree<u64, u64> = Tree::new(&rt);

    #[cfg(refused = "own_value")]
    let _tree = Tree::<String, Profile>::new(&rt);
    let _tree = Tree::<String, Name>::new(&rt);
    #[cfg(refused = "map_value")]
    let _map = HashMap::<u64, Profile>::new(&rt);
    let _map = HashMap::<u64, u32>::new(&rt);

    // A value that one handle stores is one that the other returns.
    let wide = Tree::<u64, Vec<for<'a> fn(&'a str)>>::new(&rt);
    #[cfg(refused = "values_of_another_type")]
    let wide: Tree<u64, Vec<fn(&'static str)>> = wide;
    drop(wide);

    #[cfg(refused = "layout")]
    let _tree: Tree<u64, u64, Profile>;
    let _tree: Tree<u64, u64, DefaultLayout>;
    let _ = (Profile, Name(String::new()), std::any::type_name::<InPlace>());
}
