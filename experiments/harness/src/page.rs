//! The live page of a run, which shows one runtime of XTasking after another.

use crate::common::Common;
use crate::failure::Failure;
use std::fmt::Display;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Mutex, MutexGuard, PoisonError};
use xtasking::{BuildError, Builder, Runtime};
use xtasking_inspect::Server;

/// The page of this program, while it is open. Contenders start runtimes in many places, and each
/// is to be shown.
static PAGE: Mutex<Option<Server>> = Mutex::new(None);

/// Returns the address that `--http` names, for a program that opens the page in its stead.
///
/// # Errors
///
/// If it is no address.
pub fn address(common: &Common) -> Result<Option<SocketAddr>, Failure> {
    let Some(text) = &common.http else { return Ok(None) };
    let usage = |error: &dyn Display| Failure::Usage(format!("--http {text}: {error}"));
    let mut all = text.to_socket_addrs().map_err(|error| usage(&error))?;
    all.next().map(Some).ok_or_else(|| usage(&"it leads to no address"))
}

/// Keeps the page open until it is dropped.
#[must_use = "dropping it closes the page"]
pub struct Page(());

impl Page {
    /// Serves a page at an address, and says so.
    ///
    /// # Errors
    ///
    /// If it cannot be served there.
    pub fn open(address: &str, experiment: &str) -> Result<Self, Failure> {
        let builder = xtasking_inspect::Builder::new().name(format!("xtasking-bench {experiment}"));
        let server = builder.listen(address);
        let server = server.map_err(|error| Failure::Usage(format!("--http {address}: {error}")))?;
        eprintln!("see {}; what is measured while the page is open takes longer", server.url());
        *lock() = Some(server);
        Ok(Self(()))
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let server = lock().take();
        drop(server);
    }
}

/// Starts a runtime, and shows it if there is a page.
///
/// # Errors
///
/// If it cannot be started.
pub fn start(builder: Builder) -> Result<Runtime, BuildError> {
    let page = lock();
    let Some(server) = &*page else { return builder.build() };
    let rt = builder.inspection(true).build()?;
    server.show(&rt).expect("the runtime is inspected");
    Ok(rt)
}

fn lock() -> MutexGuard<'static, Option<Server>> {
    PAGE.lock().unwrap_or_else(PoisonError::into_inner)
}
