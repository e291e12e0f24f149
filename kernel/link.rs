//! The layout of images, for the build scripts of packages that have some.

#![forbid(unsafe_code)]

use std::{env, fs};

/// Libraries of the operating system that the standard library asks for, where an image has that.
const SYSTEM_LIBRARIES: [&str; 9] = ["c", "dl", "gcc", "gcc_eh", "gcc_s", "m", "pthread", "rt", "util"];
/// An archive with nothing in it.
const EMPTY_ARCHIVE: &[u8] = b"!<arch>\n";

/// Links the images of a package with the layout of `linker.ld`; `kernel` is the kernel's folder,
/// seen from the package.
pub fn link(kernel: &str) {
    let kernel = format!("{}/{kernel}", env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    println!("cargo:rerun-if-changed={kernel}/linker.ld");
    println!("cargo:rerun-if-changed={kernel}/layout");
    // Set by the flag `--cfg bare`.
    if env::var("CARGO_CFG_BARE").is_err() {
        return;
    }
    let unwinds = env::var("CARGO_FEATURE_UNWIND").is_ok();
    let (panics, header) =
        if unwinds { ("unwind", "--eh-frame-hdr") } else { ("abort", "--no-eh-frame-hdr") };
    let paths = [format!("-L{kernel}/layout/{panics}"), format!("-T{kernel}/linker.ld")];
    let rest = ["--build-id=none", "-zmax-page-size=4096", "-znognustack", header];
    for argument in paths.iter().map(String::as_str).chain(rest) {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
    if unwinds {
        replace_system_libraries();
    }
}

/// Gives the linker empty libraries: what the standard library calls of them is in the kernel, and
/// the image does not link if it is not.
fn replace_system_libraries() {
    let folder = env::var("OUT_DIR").expect("cargo sets it");
    for name in SYSTEM_LIBRARIES {
        fs::write(format!("{folder}/lib{name}.a"), EMPTY_ARCHIVE).expect("the build's folder is written");
    }
    println!("cargo:rustc-link-arg-bins=-L{folder}");
}
