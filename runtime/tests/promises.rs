//! What the types of the public interface guarantee: unsound programs do not compile.
//!
//! Each file of `promises/` is a program about one guarantee. As it stands it compiles. Its first
//! lines name parts that break the guarantee, each with the compiler's error. An indented line
//! continues the one before it:
//!
//! ```text
//! //! refused kept: error[E0521]: borrowed data escapes outside of closure
//! //! refused made: error[E0277]: the trait bound `Made: xtasking::Version` is not
//! //!     satisfied
//! ```
//!
//! Compiled with `--cfg refused="kept"`, the program must fail with this error, and with no error
//! in another line. So each refused program has a twin that differs only in the offending part, and
//! none can fail for another reason, such as a renamed item.
//!
//! Neither of the usual ways does this. `compile_fail` in documentation accepts any error: only a
//! nightly compiler checks codes. `trybuild` compares the compiler's whole output, with notes that
//! change from one compiler to the next; it has no twins; and it stops before code generation,
//! where a snapshot's size is checked.

// The types are the same under a model checker.
#![cfg(not(any(model = "loom", model = "shuttle")))]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{env, fs, thread};

/// A program, compiled as it stands or with a part that must be refused.
struct Case {
    program: PathBuf,
    /// The names of all its parts.
    parts: Vec<String>,
    /// The part, and how the expected error begins.
    refused: Option<(String, String)>,
}

impl Case {
    /// All cases of one program.
    fn of(program: &Path) -> Vec<Self> {
        let source = fs::read_to_string(program).expect("a program that can be read");
        let source = source.replace("\n//!     ", " ");
        let refused: Vec<_> = source
            .lines()
            .filter_map(|line| line.strip_prefix("//! refused "))
            .map(|line| line.split_once(": ").expect("a name and an error"))
            .map(|(name, error)| (name.to_owned(), error.to_owned()))
            .collect();
        assert!(!refused.is_empty(), "{} refuses nothing", program.display());
        let parts: Vec<_> = refused.iter().map(|(name, _)| name.clone()).collect();
        let case = |refused| Self { program: program.to_owned(), parts: parts.clone(), refused };
        refused.into_iter().map(Some).chain([None]).map(case).collect()
    }

    fn name(&self) -> String {
        let program = self.program.file_stem().unwrap_or_default().to_string_lossy();
        match &self.refused {
            None => format!("{program}, as it stands"),
            Some((part, _)) => format!("{program}, {part}"),
        }
    }

    /// Compiles the case. Returns a description of the failure, if any.
    fn check(&self, library: &Path, objects: &Path, number: usize) -> Result<(), String> {
        let parts = self.parts.iter().map(|part| format!("{part:?}")).collect::<Vec<_>>().join(",");
        let mut compiler = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        compiler
            .args(["--edition", "2024", "--crate-name", "promise", "--emit", "obj"])
            // A part that is not named by the program would never be compiled.
            .args(["--error-format", "short", "-A", "warnings", "-D", "unexpected_cfgs"])
            .args(["--check-cfg", &format!("cfg(refused, values({parts}))")])
            .arg("-L")
            .arg(library.join("deps"))
            .arg("--extern")
            .arg(format!("xtasking={}", library.join("libxtasking.rlib").display()))
            .arg("-o")
            .arg(objects.join(format!("promise-{number}.o")))
            .arg(&self.program);
        if let Some((part, _)) = &self.refused {
            compiler.args(["--cfg", &format!("refused={part:?}")]);
        }
        let output = compiler.output().map_err(|error| format!("rustc: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        match (&self.refused, output.status.success()) {
            (None, true) => Ok(()),
            (None, false) => Err(format!("does not compile\n{said}")),
            (Some(_), true) => Err("compiles: the promise is broken".to_owned()),
            (Some((_, expected)), false) if is_about(&said, expected) => Ok(()),
            (Some((_, expected)), false) => {
                Err(format!("fails otherwise than with\n{expected}\nnamely\n{said}"))
            }
        }
    }
}

/// Returns true if the output contains the expected error and no error in another line.
fn is_about(said: &str, expected: &str) -> bool {
    // "program.rs:12:5: error[E0277]: …", or without a position if the error arose in code
    // generation.
    let errors: Vec<_> = said
        .lines()
        .filter(|line| !line.starts_with("error: aborting"))
        .filter_map(|line| match line.split_once(": error") {
            Some((place, text)) => Some((place.rsplit_once(':').map(|(line, _column)| line), text)),
            None => line.strip_prefix("error").map(|text| (None, text)),
        })
        .collect();
    let expected = expected.strip_prefix("error").expect("an error");
    errors.iter().any(|(_, text)| text.starts_with(expected))
        && errors.windows(2).all(|two| two[0].0 == two[1].0)
}

/// Builds the library for programs outside of the workspace, and returns its folder.
fn library() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("promises");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--frozen", "--package", "xtasking", "--lib", "--target-dir"])
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // This test may run under a sanitizer; the types are the same without it.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .status()
        .expect("cargo");
    assert!(built.success(), "the library does not build");
    target.join("debug")
}

/// Checks cases on several threads. Returns a description of each failure.
fn check(cases: &[Case]) -> Vec<String> {
    let (library, next) = (library(), AtomicUsize::new(0));
    // A folder of its own: several runs of this test may go on at once.
    let objects = library.join(format!("objects-{}", std::process::id()));
    fs::create_dir_all(&objects).expect("a folder");
    let take = || {
        let mut wrong = Vec::new();
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(case) = cases.get(number) else { return wrong };
            if let Err(text) = case.check(&library, &objects, number) {
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
    wrong
}

#[test]
fn unsound_programs_do_not_compile() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/promises");
    let programs =
        fs::read_dir(programs).expect("the programs").map(|entry| entry.expect("a program").path());
    let cases: Vec<_> = programs.flat_map(|program| Case::of(&program)).collect();
    assert!(cases.len() > 100, "only {} cases", cases.len());
    let wrong = check(&cases);
    assert!(wrong.is_empty(), "{} of {} cases\n\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn another_error_does_not_do() {
    let rc = "a.rs:7:5: error[E0277]: `Rc<u64>` cannot be sent between threads safely: more";
    let (sent, layout) = ("error[E0277]: `Rc<u64>` cannot be sent", "error[E0080]: pad it");
    assert!(is_about(&format!("{rc}\nerror: aborting due to 1 previous error"), sent));
    assert!(is_about(&format!("{rc}\na.rs:7:9: error[E0599]: no method"), sent), "the same line");
    assert!(is_about("error[E0080]: pad it\nnote: the above error was encountered", layout));
    assert!(!is_about(&format!("{rc}\na.rs:8:5: error[E0599]: no method"), sent), "another line");
    assert!(!is_about("a.rs:7:5: error[E0599]: no method", sent), "another error");
    assert!(!is_about("a.rs:7:5: warning: `Rc<u64>` cannot be sent", sent), "no error");
}
