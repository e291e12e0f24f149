//! Spawning bundles.

use super::Bundle;
use super::turns::{BundleBody, OwnedLanes};
use crate::object::Fetch;
use crate::scheduler::Context;
use crate::task::body::{must_be_boxed, spawn_body};
use crate::task::group::{Membership, SinkPair};
use crate::task::handle::{self, Handle};
use crate::task::options::SpawnRequest;
use crate::task::spawner::{Route, sealed::Origin, sealed::Spawn};
use crate::task::{Sink, TaskBuilder};
use alloc::boxed::Box;

/// Spawns a bundle.
///
/// # Safety
///
/// The bundle and the continuation live until the sink is completed or refused.
pub(crate) unsafe fn launch<P, B, G, R, K>(mut request: SpawnRequest<P>, bundle: B, then: G, sink: K)
where
    P: Spawn,
    B: Bundle,
    G: FnOnce(B, &mut Context) -> R + Send,
    K: Sink<R>,
{
    let shared = request.spawner.origin_mut().shared();
    let lanes = OwnedLanes::new(bundle, shared.is_simulated);
    let begins_operation = !<P::Origin as Origin>::IN_TASK || request.options.begins_operation;
    let moves_on = P::DELIVERS_AT_ONCE && begins_operation;
    if const { must_be_boxed::<BundleBody<B, G>, K>() } {
        let boxed = Box::new(then);
        let then = move |bundle: B, cx: &mut Context| boxed(bundle, cx);
        spawn_body(request, Fetch::NONE, BundleBody { lanes, then, moves_on }, sink, Route::Bound(None));
    } else {
        spawn_body(request, Fetch::NONE, BundleBody { lanes, then, moves_on }, sink, Route::Bound(None));
    }
}

impl<P: Spawn, M: Membership> TaskBuilder<P, (), M> {
    /// Spawns one task that carries many walks. When all have ended, the bundle with its results is
    /// passed to `then`.
    ///
    /// The task runs on one worker: the spawning one, or the one that [`core`](Self::core) or
    /// [`node`](Self::node) names. To use all workers, spawn a bundle for each.
    pub fn bundle_then<B, G>(self, bundle: B, then: G)
    where
        B: Bundle + 'static,
        G: FnOnce(B, &mut Context) + Send + 'static,
    {
        let (request, (), group) = self.into_parts();
        // SAFETY: neither borrows anything.
        unsafe { launch(request, bundle, then, group.sink()) };
    }

    /// As [`bundle_then`](Self::bundle_then), with a handle that returns the bundle.
    pub fn submit_bundle<B>(self, bundle: B) -> Handle<B>
    where
        B: Bundle + 'static,
    {
        let (mut request, (), group) = self.into_parts();
        let (handle, completion) = handle::pair(request.spawner.origin_mut().shared().clone());
        let sink = SinkPair(completion, group.sink());
        // SAFETY: the bundle borrows nothing.
        unsafe { launch(request, bundle, |bundle, _: &mut Context| bundle, sink) };
        handle
    }
}
