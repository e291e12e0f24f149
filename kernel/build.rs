//! Links the images with the kernel's layout.

#![forbid(unsafe_code)]

mod link;

fn main() {
    link::link(".");
}
