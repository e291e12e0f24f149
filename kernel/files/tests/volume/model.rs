//! What a volume must contain, and random operations on both.

use crate::device::Device;
use crate::random::Random;
use std::collections::BTreeMap;
use xkernel_files::{Error, FileId, Volume};

/// Names and contents.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Returns all that a volume contains.
pub fn contents(volume: &mut Volume<Device>) -> Result<Files, Error> {
    let names: Vec<_> = volume.names().map(String::from).collect();
    names.into_iter().map(|name| read(volume, &name).map(|bytes| (name, bytes))).collect()
}

pub fn read(volume: &mut Volume<Device>, name: &str) -> Result<Vec<u8>, Error> {
    let id = volume.open_file(name)?;
    let bytes = read_open(volume, id);
    volume.close(id)?;
    bytes
}

pub fn read_open(volume: &Volume<Device>, id: FileId) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; volume.len(id)? as usize];
    let mut at = 0;
    while at < bytes.len() {
        let count = volume.read_at(id, at as u64, &mut bytes[at..])?;
        assert!(count > 0, "a file ends before its length");
        at += count;
    }
    Ok(bytes)
}

/// A volume in use, and what it must contain.
pub struct Run {
    pub volume: Volume<Device>,
    /// What programs see.
    pub files: Files,
    /// What is there after a power cut.
    pub durable: Files,
    /// What may be there instead, as an operation has failed in its midst.
    pub perhaps: Option<Files>,
    commits: u64,
    /// A removed file that is still open, and its contents.
    removed: Option<(FileId, Vec<u8>)>,
}

const NAMES: [&str; 6] = ["a", "b", "log-1", "log-2", "base", "temporary"];

impl Run {
    /// Opens the volume and compares what is there.
    pub fn open(device: &Device, allowed: &[&Files]) -> Result<Self, Error> {
        let mut volume = Volume::open(device.clone())?;
        let files = contents(&mut volume)?;
        let summary =
            |files: &Files| files.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect::<Vec<_>>();
        assert!(
            allowed.contains(&&files),
            "{:?} is there, allowed are {:?}",
            summary(&files),
            allowed.iter().map(|files| summary(files)).collect::<Vec<_>>()
        );
        let commits = volume.commits();
        Ok(Self { volume, durable: files.clone(), files, perhaps: None, commits, removed: None })
    }

    /// Returns what may be there after a failure.
    pub fn allowed(&self) -> Vec<&Files> {
        [&self.durable].into_iter().chain(&self.perhaps).collect()
    }

    /// Notes whether an operation has committed, and what; or what it may have committed.
    fn after(&mut self, result: Result<(), Error>, state: Files) -> Result<(), Error> {
        let commits = self.volume.commits();
        if commits != self.commits {
            assert_eq!(commits, self.commits + 1, "one commit an operation");
            (self.commits, self.durable) = (commits, state.clone());
        }
        self.perhaps = result.is_err().then_some(state);
        result
    }

    /// Does something.
    ///
    /// # Errors
    ///
    /// What the volume returns, other than that it is full.
    pub fn step(&mut self, random: &mut Random) -> Result<(), Error> {
        let name = NAMES[random.up_to(NAMES.len() - 1)];
        match random.up_to(99) {
            0..45 => self.append(name, random),
            45..60 => {
                let result = self.volume.commit();
                let files = self.files.clone();
                self.after(result, files)
            }
            60..70 => self.rename(name, NAMES[random.up_to(NAMES.len() - 1)]),
            70..80 => self.remove(name),
            80..88 => self.truncate(name, random),
            88..92 => self.close_removed(),
            _ => {
                let expected = self.files.get(name).cloned().ok_or(Error::NotFound);
                let found = read(&mut self.volume, name);
                let is_device = matches!(found, Err(Error::Device(_)));
                assert!(is_device || found == expected, "{name} is read wrongly");
                found.map(drop).or_else(ignore_missing)
            }
        }
    }

    /// Appends to a file, which is created if it does not exist.
    fn append(&mut self, name: &str, random: &mut Random) -> Result<(), Error> {
        if !self.files.contains_key(name) {
            match self.volume.create(name) {
                Ok(id) => self.volume.close(id)?,
                Err(error) => return Err(error),
            }
            self.files.insert(name.into(), Vec::new());
        }
        let most = [10, 600, 5000, 40_000, 200_000][random.up_to(4)];
        let byte = random.up_to(255) as u8;
        let bytes: Vec<_> = (0..random.up_to(most)).map(|at| byte.wrapping_add((at / 7) as u8)).collect();
        let id = self.volume.open_file(name)?;
        let before = self.files.clone();
        let result = self.volume.append(id, &bytes);
        if let Ok(count) = result {
            self.files.get_mut(name).expect("created above").extend(&bytes[..count]);
        }
        self.volume.close(id)?;
        // Blocks may be had by a commit of what there was before.
        self.after(result.map(drop), before)
            .or_else(|error| if error == Error::Full { Ok(()) } else { Err(error) })
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), Error> {
        let result = self.volume.rename(from, to);
        let expected = self.files.remove(from);
        assert_eq!(result == Err(Error::NotFound), expected.is_none());
        self.files.extend(expected.map(|bytes| (to.into(), bytes)));
        result.or_else(ignore_missing)
    }

    /// Removes a file, which stays open if no other one does.
    fn remove(&mut self, name: &str) -> Result<(), Error> {
        if let Some(bytes) = self.files.get(name)
            && self.removed.is_none()
        {
            self.removed = Some((self.volume.open_file(name)?, bytes.clone()));
        }
        let result = self.volume.remove(name);
        assert_eq!(result.is_ok(), self.files.remove(name).is_some());
        result.or_else(ignore_missing)
    }

    fn truncate(&mut self, name: &str, random: &mut Random) -> Result<(), Error> {
        let Some(bytes) = self.files.get_mut(name) else { return Ok(()) };
        bytes.truncate(random.up_to(bytes.len()));
        let len = bytes.len() as u64;
        let files = self.files.clone();
        let id = self.volume.open_file(name)?;
        assert_eq!(self.volume.truncate(id, u64::MAX), Err(Error::InvalidLength));
        let result = self.volume.truncate(id, len);
        self.volume.close(id)?;
        self.after(result, files)
    }

    /// Reads the removed file that is still open, and closes it.
    fn close_removed(&mut self) -> Result<(), Error> {
        let Some((id, bytes)) = self.removed.take() else { return Ok(()) };
        let found = read_open(&self.volume, id);
        self.volume.close(id)?;
        assert!(found.clone().unwrap_or_else(|_| bytes.clone()) == bytes, "a removed file has changed");
        found.map(drop)
    }
}

fn ignore_missing(error: Error) -> Result<(), Error> {
    if error == Error::NotFound { Ok(()) } else { Err(error) }
}
