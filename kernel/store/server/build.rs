//! Links the image with the kernel's layout.

#![forbid(unsafe_code)]

#[path = "../../link.rs"]
mod link;

fn main() {
    link::link("../..");
}
