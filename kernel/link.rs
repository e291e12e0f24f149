//! The layout of images, for the build scripts of packages that have some.

#![forbid(unsafe_code)]

/// Links the images of a package with the layout of `linker.ld`; `kernel` is the kernel's folder,
/// seen from the package.
pub fn link(kernel: &str) {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let layout = format!("{package}/{kernel}/linker.ld");
    println!("cargo:rerun-if-changed={layout}");
    if std::env::var("CARGO_CFG_TARGET_OS").expect("cargo sets it") == "none" {
        let layout = format!("-T{layout}");
        let rest = ["--build-id=none", "-zmax-page-size=4096", "-znognustack", "--no-eh-frame-hdr"];
        for argument in [&*layout].into_iter().chain(rest) {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}
