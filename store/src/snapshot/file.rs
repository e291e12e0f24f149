//! Writes the file of a snapshot: to a temporary name, synced, then renamed.

use super::output::{Message, SnapshotOutput};
use crate::rdb::RdbWriter;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

/// What is known of a snapshot when its file is begun.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotFile {
    /// The directory.
    pub(crate) folder: PathBuf,
    /// The file's name in it.
    pub(crate) name: String,
    /// In ms since 1970.
    pub(crate) begun_at: u64,
    /// The number of keys of each database, and of those that expire.
    pub(crate) sizes: Vec<(usize, usize)>,
}

impl SnapshotFile {
    fn temporary(&self) -> PathBuf {
        self.folder.join(format!("temp-{}.rdb", std::process::id()))
    }

    /// Writes all that comes until the end. The file is there when this returns, also after a loss
    /// of power; after an error the one before it is.
    pub(crate) fn write(
        &self,
        receiver: &Receiver<Message>,
        output: &SnapshotOutput,
        note_pending: impl Fn(usize),
    ) -> io::Result<()> {
        let mut result = self.begin();
        if result.is_err() {
            output.note_failure();
        }
        let is_complete = loop {
            match receiver.recv() {
                Ok(Message::Records { database, bytes }) => {
                    if let Ok(writer) = &mut result
                        && let Err(error) = writer.append(database, &bytes)
                    {
                        result = Err(error);
                        output.note_failure();
                    }
                    note_pending(output.note_written(bytes.len()));
                }
                Ok(Message::Then(call)) => call(),
                Ok(Message::End) => break true,
                Ok(Message::Abort) | Err(_) => break false,
            }
        };
        let ended = match (result, is_complete) {
            (Ok(writer), true) => self.end(writer),
            (Ok(_), false) => Err(io::Error::new(io::ErrorKind::Interrupted, "the runtime has ended")),
            (Err(error), _) => Err(error),
        };
        if ended.is_err() {
            // It may not even be there.
            _ = fs::remove_file(self.temporary());
        }
        ended
    }

    fn begin(&self) -> io::Result<RdbWriter<File>> {
        let mut writer = RdbWriter::new(File::create(self.temporary())?);
        writer.origin(self.begun_at)?;
        for (database, &(keys, expiring)) in self.sizes.iter().enumerate().filter(|(_, sizes)| sizes.0 > 0) {
            writer.select(database)?;
            writer.sizes(keys, expiring)?;
        }
        Ok(writer)
    }

    fn end(&self, writer: RdbWriter<File>) -> io::Result<()> {
        writer.finish()?.sync_all()?;
        fs::rename(self.temporary(), self.folder.join(&self.name))?;
        sync_names(&self.folder)
    }
}

/// Syncs the names of a directory, so that a renamed file has its new name after a loss of power.
#[cfg(unix)]
fn sync_names(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Other systems have no such call.
#[cfg(not(unix))]
fn sync_names(_: &Path) -> io::Result<()> {
    Ok(())
}
