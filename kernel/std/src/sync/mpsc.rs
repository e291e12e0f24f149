//! Channels.

use super::{Arc, Mutex};
use crate::pause::Pause;
use alloc_crate::collections::VecDeque;
use core::sync::atomic::{AtomicUsize, Ordering::*};

/// What both ends share.
struct Channel<T> {
    values: Mutex<VecDeque<T>>,
    senders: AtomicUsize,
}

/// The end that sends.
pub struct Sender<T>(Arc<Channel<T>>);

/// The end that receives.
pub struct Receiver<T>(Arc<Channel<T>>);

/// The error of a value that none will receive.
#[derive(Debug)]
pub struct SendError<T>(pub T);

/// The error of a receiver without senders.
#[derive(Debug)]
pub struct RecvError;

/// The error of a receiver without a value.
#[derive(Debug)]
pub struct TryRecvError;

/// Creates a channel.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel { values: Mutex::new(VecDeque::new()), senders: AtomicUsize::new(1) });
    (Sender(channel.clone()), Receiver(channel))
}

impl<T> Sender<T> {
    /// Sends a value.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if let Ok(mut values) = self.0.values.lock() {
            values.push_back(value);
        }
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, SeqCst);
        Self(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.senders.fetch_sub(1, SeqCst);
    }
}

impl<T> Receiver<T> {
    /// Waits for a value.
    pub fn recv(&self) -> Result<T, RecvError> {
        let mut pause = Pause::default();
        loop {
            // Looked at before the values: what the last sender has sent is among them.
            let has_senders = self.0.senders.load(SeqCst) > 0;
            match self.try_recv() {
                Ok(value) => return Ok(value),
                Err(_) if !has_senders => return Err(RecvError),
                Err(_) => pause.wait(),
            }
        }
    }

    /// Returns a value if there is one.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.0.values.lock().ok().and_then(|mut values| values.pop_front()).ok_or(TryRecvError)
    }

    /// Returns the values that have come.
    pub fn try_iter(&self) -> impl Iterator<Item = T> + '_ {
        core::iter::from_fn(|| self.try_recv().ok())
    }

    /// Returns the values as they come.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        core::iter::from_fn(|| self.recv().ok())
    }
}
