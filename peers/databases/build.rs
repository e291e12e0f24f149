//! Has the program find the libduckdb that it was linked with.

fn main() {
    println!("cargo:rerun-if-env-changed=DUCKDB_LIB_DIR");
    if let Ok(folder) = std::env::var("DUCKDB_LIB_DIR") {
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{folder}");
    }
}
