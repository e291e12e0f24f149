//! Links the images with the layout of `linker.ld`.

#![forbid(unsafe_code)]

fn main() {
    let package = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rerun-if-changed=linker.ld");
    if std::env::var("CARGO_CFG_TARGET_OS").expect("cargo sets it") == "none" {
        let layout = format!("-T{package}/linker.ld");
        let rest = ["--build-id=none", "-zmax-page-size=4096", "-znognustack", "--no-eh-frame-hdr"];
        for argument in [&*layout].into_iter().chain(rest) {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}
