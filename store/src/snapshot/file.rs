//! Writes the file of a snapshot: to a temporary name, synced, then renamed.

use super::output::{Message, SnapshotOutput};
use super::target::{NewFile, SnapshotTarget};
use crate::rdb::RdbWriter;
use std::io;
use std::sync::mpsc::Receiver;

/// What is known of a snapshot when its file is begun.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotFile {
    pub(crate) target: SnapshotTarget,
    /// In ms since 1970.
    pub(crate) begun_at: u64,
    /// The number of keys of each database, and of those that expire.
    pub(crate) sizes: Vec<(usize, usize)>,
}

impl SnapshotFile {
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
            self.target.discard();
        }
        ended
    }

    fn begin(&self) -> io::Result<RdbWriter<NewFile>> {
        let mut writer = RdbWriter::new(self.target.begin()?);
        writer.origin(self.begun_at)?;
        for (database, &(keys, expiring)) in self.sizes.iter().enumerate().filter(|(_, sizes)| sizes.0 > 0) {
            writer.select(database)?;
            writer.sizes(keys, expiring)?;
        }
        Ok(writer)
    }

    fn end(&self, writer: RdbWriter<NewFile>) -> io::Result<()> {
        self.target.keep(writer.finish()?)
    }
}
