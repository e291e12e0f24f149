//! Programs that must not compile, and what the compiler says of them.
//!
//! Each file of a folder is a program. As it stands it compiles. Its first lines name parts that
//! are wrong, each with the compiler's error. An indented line continues the one before it:
//!
//! ```text
//! //! refused kept: error[E0521]: borrowed data escapes outside of closure
//! //! refused made: error[E0277]: the trait bound `Made: xtasking::Version` is not
//! //!     satisfied
//! //! says made: derive `Version`
//! ```
//!
//! Compiled with `--cfg refused="kept"`, the program must fail with this error, and with no error
//! in another line. So each refused program has a twin that differs only in the offending part, and
//! none can fail for another reason, such as a renamed item. What a part `says` must be in a label,
//! a note or a help of this error, which must be at a line of the program and not of the library.
//!
//! Neither of the usual ways does this. `compile_fail` in documentation accepts any error: only a
//! nightly compiler checks codes. `trybuild` compares the compiler's whole output, with notes that
//! change from one compiler to the next; it has no twins; and it stops before code generation,
//! where a snapshot's size is checked.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{env, fs, thread};

/// A part of a program that must be refused.
#[derive(Clone)]
struct Refusal {
    part: String,
    /// How the expected error begins.
    error: String,
    /// What else the compiler must say of it.
    remedies: Vec<String>,
}

/// A program, compiled as it stands or with a part that must be refused.
struct Case {
    program: PathBuf,
    /// The names of all its parts.
    parts: Vec<String>,
    refused: Option<Refusal>,
}

/// An error of the compiler.
struct CompileError {
    /// The file and line, unless the error arose in code generation.
    place: Option<String>,
    /// "error[E0277]: …", and the lines below it, with labels, notes and helps.
    text: String,
}

/// The libraries that programs use, as they are built.
struct Libraries {
    folder: PathBuf,
    names: Vec<String>,
}

/// Checks all programs of a folder, and returns a description of each failure, and how many cases
/// there are. They use the packages of the workspace of `manifest_folder`, which are built below
/// `scratch`.
///
/// # Panics
///
/// Panics if the programs cannot be read, or the packages not be built.
pub fn check(
    programs: &Path,
    manifest_folder: &Path,
    packages: &[&str],
    scratch: &Path,
) -> (Vec<String>, usize) {
    let programs =
        fs::read_dir(programs).expect("the programs").map(|entry| entry.expect("a program").path());
    let cases: Vec<_> = programs.flat_map(|program| Case::all_of(&program)).collect();
    let libraries = Libraries::build(manifest_folder, packages, scratch);
    // A folder of its own: several runs of a test may go on at once.
    let objects = libraries.folder.join(format!("objects-{}", std::process::id()));
    fs::create_dir_all(&objects).expect("a folder");
    let next = AtomicUsize::new(0);
    let take = || {
        let mut wrong = Vec::new();
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(case) = cases.get(number) else { return wrong };
            if let Err(text) = case.check(&libraries, &objects.join(format!("program-{number}.o"))) {
                wrong.push(format!("{}: {text}", case.name()));
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let wrong = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(take)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a checker that ends")).collect()
    });
    fs::remove_dir_all(&objects).expect("a folder that exists");
    (wrong, cases.len())
}

impl Libraries {
    /// Builds the packages for programs outside of the workspace.
    fn build(manifest_folder: &Path, packages: &[&str], scratch: &Path) -> Self {
        let built = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--quiet", "--frozen", "--lib", "--target-dir"])
            .arg(scratch)
            .args(packages.iter().flat_map(|package| ["--package", package]))
            .current_dir(manifest_folder)
            // A test may run under a sanitizer; the types are the same without it.
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("CARGO_BUILD_TARGET")
            .status()
            .expect("cargo");
        assert!(built.success(), "the libraries do not build");
        let names = packages.iter().map(|package| package.replace('-', "_")).collect();
        Self { folder: scratch.join("debug"), names }
    }
}

impl Case {
    /// All cases of one program.
    fn all_of(program: &Path) -> Vec<Self> {
        let source = fs::read_to_string(program).expect("a program that can be read");
        let source = source.replace("\n//!     ", " ");
        let entries = |kind: &str| -> Vec<(String, String)> {
            let lines = source.lines().filter_map(|line| line.strip_prefix(kind));
            let pairs = lines.map(|line| line.split_once(": ").expect("a name and a text"));
            pairs.map(|(part, text)| (part.to_owned(), text.to_owned())).collect()
        };
        let (refused, said) = (entries("//! refused "), entries("//! says "));
        assert!(!refused.is_empty(), "{} refuses nothing", program.display());
        let parts: Vec<_> = refused.iter().map(|(part, _)| part.clone()).collect();
        for (part, _) in &said {
            assert!(parts.contains(part), "{} says something of no part {part}", program.display());
        }
        let refusals = refused.into_iter().map(|(part, error)| {
            let of_part = said.iter().filter(|(name, _)| *name == part);
            let remedies = of_part.map(|(_, text)| text.clone()).collect();
            Some(Refusal { part, error, remedies })
        });
        let case = |refused| Self { program: program.to_owned(), parts: parts.clone(), refused };
        refusals.chain([None]).map(case).collect()
    }

    fn name(&self) -> String {
        let program = self.program.file_stem().unwrap_or_default().to_string_lossy();
        match &self.refused {
            None => format!("{program}, as it stands"),
            Some(Refusal { part, .. }) => format!("{program}, {part}"),
        }
    }

    /// Compiles the case. Returns a description of the failure, if any.
    fn check(&self, libraries: &Libraries, object: &Path) -> Result<(), String> {
        let parts = self.parts.iter().map(|part| format!("{part:?}")).collect::<Vec<_>>().join(",");
        let mut compiler = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        compiler
            .args(["--edition", "2024", "--crate-name", "refused", "--emit", "obj"])
            // A part that is not named by the program would never be compiled.
            .args(["--color", "never", "-A", "warnings", "-D", "unexpected_cfgs"])
            .args(["--check-cfg", &format!("cfg(refused, values({parts}))")])
            .arg("-L")
            .arg(libraries.folder.join("deps"));
        for name in &libraries.names {
            let library = libraries.folder.join(format!("lib{name}.rlib"));
            compiler.arg("--extern").arg(format!("{name}={}", library.display()));
        }
        compiler.arg("-o").arg(object).arg(&self.program);
        if let Some(Refusal { part, .. }) = &self.refused {
            compiler.args(["--cfg", &format!("refused={part:?}")]);
        }
        let output = compiler.output().map_err(|error| format!("rustc: {error}"))?;
        let errors = errors(&String::from_utf8_lossy(&output.stderr));
        let said: String = errors.iter().map(CompileError::to_string).collect();
        match (&self.refused, output.status.success()) {
            (None, true) => Ok(()),
            (None, false) => Err(format!("does not compile\n{said}")),
            (Some(_), true) => Err("compiles: the promise is broken".to_owned()),
            (Some(refusal), false) if refusal.is_in(&errors, &self.program) => Ok(()),
            (Some(Refusal { error, remedies, .. }), false) => {
                Err(format!("fails otherwise than with\n{error}\n{}\nnamely\n{said}", remedies.join("\n")))
            }
        }
    }
}

impl Refusal {
    /// Returns true if the errors contain the expected one, with its remedies, and none in another
    /// line.
    fn is_in(&self, errors: &[CompileError], program: &Path) -> bool {
        let here = program.to_string_lossy();
        let is_expected = |error: &CompileError| {
            error.text.starts_with(&self.error)
                && self.remedies.iter().all(|remedy| error.text.contains(remedy))
                && (self.remedies.is_empty()
                    || error.place.as_ref().is_some_and(|place| place.starts_with(&*here)))
        };
        errors.iter().any(is_expected) && errors.windows(2).all(|two| two[0].place == two[1].place)
    }
}

impl std::fmt::Display for CompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}: {}", self.place.as_deref().unwrap_or("code generation"), self.text)
    }
}

/// Reads the errors from what the compiler prints.
fn errors(printed: &str) -> Vec<CompileError> {
    let mut errors: Vec<CompileError> = Vec::new();
    for line in printed.lines() {
        if line.starts_with("error") {
            errors.push(CompileError { place: None, text: line.to_owned() });
        } else if let Some(error) = errors.last_mut() {
            // "  --> program.rs:12:5": the first place is that of the error.
            let place = line.trim_start().strip_prefix("--> ").and_then(|place| place.rsplit_once(':'));
            error.place = error.place.take().or(place.map(|(line, _column)| line.to_owned()));
            error.text = format!("{}\n{line}", error.text);
        }
    }
    errors.retain(|error| !error.text.starts_with("error: aborting"));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(place: &str, text: &str) -> CompileError {
        let place = (!place.is_empty()).then(|| place.to_owned());
        CompileError { place, text: text.to_owned() }
    }

    fn is_refused(error: &str, remedy: &str, errors: &[CompileError]) -> bool {
        let remedies = if remedy.is_empty() { vec![] } else { vec![remedy.to_owned()] };
        let refusal = Refusal { part: "part".to_owned(), error: error.to_owned(), remedies };
        refusal.is_in(errors, Path::new("a.rs"))
    }

    #[test]
    fn another_error_does_not_do() {
        let rc = || error("a.rs:7", "error[E0277]: `Rc<u64>` cannot be sent between threads\nuse `Arc`");
        let (sent, layout) = ("error[E0277]: `Rc<u64>` cannot be sent", "error[E0080]: pad it");
        let method = |place| error(place, "error[E0599]: no method");
        assert!(is_refused(sent, "", &[rc()]));
        assert!(is_refused(sent, "", &[rc(), method("a.rs:7")]), "the same line");
        assert!(is_refused(layout, "", &[error("", "error[E0080]: pad it")]));
        assert!(!is_refused(sent, "", &[rc(), method("a.rs:8")]), "another line");
        assert!(!is_refused(sent, "", &[method("a.rs:7")]), "another error");
        assert!(!is_refused(sent, "", &[]), "no error");
    }

    #[test]
    fn an_error_that_lacks_the_remedy_does_not_do() {
        let text = "error[E0277]: `Rc<u64>` cannot be sent between threads\nuse `Arc`";
        let sent = "error[E0277]: `Rc<u64>` cannot be sent";
        assert!(is_refused(sent, "use `Arc`", &[error("a.rs:7", text)]));
        assert!(!is_refused(sent, "use `Mutex`", &[error("a.rs:7", text)]));
        assert!(!is_refused(sent, "use `Arc`", &[error("library.rs:7", text)]), "not the user's line");
    }

    #[test]
    fn errors_are_read_from_what_the_compiler_prints() {
        let printed = [
            "error[E0277]: no",
            "  --> a.rs:7:5",
            "   |     ^ here",
            "   = note: do that",
            "note: required",
            "  --> b.rs:3:9",
            "error: aborting due to 1 previous error",
        ];
        let [error] = &errors(&printed.join("\n"))[..] else { panic!("one error") };
        assert!(error.text.starts_with("error[E0277]: no\n") && error.text.contains("do that"));
        assert_eq!(error.place.as_deref(), Some("a.rs:7"));
    }
}
