//! The guide names the commands that are there.

use std::collections::BTreeMap;
use std::fmt::Write;
use xtasking_store::command::commands;

const GUIDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guide/store.md");
const BEGIN: &str = "<!-- commands: from the table of the crate -->\n";
const END: &str = "<!-- end of commands -->\n";

/// A row for each group, with the names of its commands.
fn table() -> String {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for command in commands() {
        let own = |name: &str| name.split('|').next_back().unwrap_or(name).to_uppercase();
        let mut subcommands: Vec<_> = command.subcommands.iter().map(|sub| own(sub.name)).collect();
        subcommands.sort();
        let mut name = own(command.name);
        if !subcommands.is_empty() {
            name += &format!(" ({})", subcommands.join(", "));
        }
        groups.entry(command.group).or_default().push(name);
    }
    let mut table = String::from("| group | commands |\n|---|---|\n");
    for (group, mut names) in groups {
        names.sort();
        writeln!(table, "| {group} | {} |", names.join(", ")).expect("a string takes all text");
    }
    table
}

/// With `XTASKING_UPDATE` the guide is written anew.
#[test]
fn the_guide_names_the_commands_that_are_there() {
    let guide = std::fs::read_to_string(GUIDE).expect("the guide");
    let (before, rest) = guide.split_once(BEGIN).expect("the guide has a place for the table");
    let (named, after) = rest.split_once(END).expect("the place has an end");
    if std::env::var_os("XTASKING_UPDATE").is_some() {
        let text = [before, BEGIN, &table(), END, after].concat();
        std::fs::write(GUIDE, text).expect("the guide can be written");
    } else {
        assert_eq!(named, table(), "XTASKING_UPDATE=1 cargo test -p xtasking-store --test documentation");
    }
}
