//! Prints the public interface of a library, an item a line, from the JSON that rustdoc writes.

#![forbid(unsafe_code)]

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(json) = env::args_os().nth(1) else {
        eprintln!("usage: api-text FILE.json");
        return ExitCode::FAILURE;
    };
    let builder = public_api::Builder::from_rustdoc_json(json);
    // What follows from the definitions of types and traits needs no line of its own.
    let builder = builder.omit_blanket_impls(true).omit_auto_trait_impls(true).omit_auto_derived_impls(true);
    match builder.build() {
        Ok(interface) => {
            interface.items().for_each(|item| println!("{item}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
