//! All dialogues of an engine, to be reached from elsewhere.

use super::news::{Host, Kind, News};
use super::talk::Dialogue;
use crate::engine::{Builder, Engine};
use crate::server::Setting;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xtasking::{Handle, Promise, Runtime};

/// All dialogues of an engine. A clone is another handle to the same.
#[derive(Clone, Default)]
pub struct Dialogues {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// By the number of their session.
    places: Mutex<HashMap<u64, Place>>,
    count: AtomicUsize,
    /// To be fulfilled when no dialogue up to that number is left.
    ending: Mutex<Vec<(u64, Promise<()>)>>,
}

/// Where an open dialogue is.
enum Place {
    /// It has no host yet, and this is what came until now.
    Opened(Vec<Kind>),
    Hosted(Box<dyn AnyHost>),
}

/// A host, whatever it is.
trait AnyHost: Send {
    fn bring(&self, rt: &Runtime, news: News);
}

impl<H: Host> AnyHost for H {
    fn bring(&self, rt: &Runtime, news: News) {
        Host::bring(self, rt, news);
    }
}

impl Dialogues {
    /// Lets an engine reach the dialogues: CLIENT KILL ends them, and messages of channels come to
    /// them.
    pub fn attach(&self, engine: Builder, rt: &Runtime) -> Builder {
        let (dialogues, handle) = (self.clone(), rt.handle().downgrade());
        let bring = move |session: u64, kind: Kind| {
            if let Some(rt) = handle.upgrade() {
                dialogues.bring(&rt, session, kind);
            }
        };
        let kill = bring.clone();
        engine
            .on_close(move |session| kill(session, Kind::Kill))
            .on_message(move |session| bring(session, Kind::Messages))
    }

    /// Opens a dialogue with a client at an address, which has connected to an own address. Returns
    /// `None` if there are as many as the setting `maxclients` allows.
    ///
    /// Each dialogue must be [closed](Dialogue::close) and [removed](Self::remove) in the end, also
    /// if it gets no host: until then it counts, and its client is in the list of clients.
    pub fn open(&self, engine: &Engine, address: &str, own_address: &str) -> Option<Dialogue> {
        let most = engine.server().settings.number(Setting::MaxClients);
        self.admit(usize::try_from(most).unwrap_or(usize::MAX)).then(|| {
            let is_ending = !lock(&self.shared.ending).is_empty() && !planted!("newcomers-served");
            // With the lock, as what comes for the session needs its place.
            let mut places = lock(&self.shared.places);
            let session = engine.session(address);
            let kinds = is_ending.then_some(Kind::Finish).into_iter().collect();
            places.insert(session.id(), Place::Opened(kinds));
            drop(places);
            session.client.set_local_address(own_address);
            Dialogue::new(engine.clone(), session)
        })
    }

    /// Counts one more. Returns false if there are `most` already.
    fn admit(&self, most: usize) -> bool {
        // Relaxed, as in `remove`: the number alone counts.
        let one_more = |count: usize| (count < most).then_some(count + 1);
        self.shared.count.try_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Adds the host of an open dialogue, before its first requests, which may end it. What came
    /// for the dialogue until now is brought at once.
    pub fn insert(&self, rt: &Runtime, session: u64, host: impl Host) {
        let mut places = lock(&self.shared.places);
        // Without a place all dialogues were forgotten.
        let Some(place) = places.get_mut(&session) else { return };
        let before = std::mem::replace(place, Place::Hosted(Box::new(host.clone())));
        drop(places);
        if let Place::Opened(kinds) = before {
            kinds.into_iter().for_each(|kind| host.bring(rt, News(kind)));
        }
    }

    /// Removes a dialogue that was [closed](Dialogue::close). Calling it again does nothing.
    pub fn remove(&self, session: u64) {
        let Some(removed) = lock(&self.shared.places).remove(&session) else { return };
        self.shared.count.fetch_sub(1, Ordering::Relaxed);
        // Without the lock, as it may be the last handle.
        drop(removed);
        self.note_end();
    }

    /// Ends all dialogues, each once its requests are done and their replies sent; waits for keys
    /// end now. The result is there when all are [removed](Self::remove). A client that takes no
    /// replies delays it. One that comes meanwhile does not, and ends as well.
    pub fn finish(&self, rt: &Runtime) -> Handle<()> {
        let (promise, handle) = rt.promise();
        let last = lock(&self.shared.places).keys().copied().max().unwrap_or_default();
        lock(&self.shared.ending).push((last, promise));
        for place in lock(&self.shared.places).values_mut() {
            place.bring(rt, Kind::Finish);
        }
        self.note_end();
        handle
    }

    /// Fulfils the promises of [`finish`](Self::finish) whose dialogues have ended.
    fn note_end(&self) {
        if lock(&self.shared.ending).is_empty() {
            return;
        }
        let first = lock(&self.shared.places).keys().copied().min().unwrap_or(u64::MAX);
        let ended: Vec<_> = lock(&self.shared.ending).extract_if(.., |(last, _)| *last < first).collect();
        ended.into_iter().for_each(|(_, promise)| promise.fulfil(()));
    }

    /// Forgets all hosts, as the runtime ends: dialogues under way end with their tasks. Until then
    /// hosts and their objects keep each other.
    pub fn forget_all(&self) {
        let all = std::mem::take(&mut *lock(&self.shared.places));
        // Without the lock, as these may be the last handles.
        drop(all);
    }

    /// Ends a dialogue if its client cannot send requests yet.
    #[cfg(feature = "tls")]
    pub(crate) fn end_handshake(&self, rt: &Runtime, session: u64) {
        self.bring(rt, session, Kind::EndHandshake);
    }

    /// Brings news to a dialogue.
    fn bring(&self, rt: &Runtime, session: u64, kind: Kind) {
        if let Some(place) = lock(&self.shared.places).get_mut(&session) {
            place.bring(rt, kind);
        }
    }

    /// Ends all dialogues whose clients have sent nothing since a moment, in ms since 1970.
    pub fn end_idle(&self, rt: &Runtime, moment: u64) {
        for place in lock(&self.shared.places).values() {
            // One without a host was opened just now.
            if let Place::Hosted(host) = place {
                host.bring(rt, News(Kind::EndIfIdle(moment)));
            }
        }
    }
}

impl Place {
    fn bring(&mut self, rt: &Runtime, kind: Kind) {
        match self {
            Self::Opened(kinds) => kinds.push(kind),
            Self::Hosted(host) => host.bring(rt, News(kind)),
        }
    }
}

impl fmt::Debug for Dialogues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialogues").field("count", &self.shared.count).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics inside.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
