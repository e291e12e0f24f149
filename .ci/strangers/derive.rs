// A program that names the crate of the macros itself, beside a runtime without its features.
use xtasking::arena::Field;

#[derive(Clone, Copy, Debug, PartialEq, Eq, xtasking_derive::AsWord)]
enum Color {
    Red,
    Black,
}

#[derive(xtasking_derive::Version)]
struct Node {
    color: Field<Color>,
}

fn main() {
    let colors = [Color::Red, Color::Black];
    let nodes = colors.map(|color| Node { color: Field::new(color) });
    assert_eq!(nodes.map(|node| node.color.get()), colors);
}
