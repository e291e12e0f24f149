//! CLIENT TRACKING and its siblings: client-side caching.

use super::super::{Call, CommandError, CommandResult};
use crate::resp::Args;
use crate::server::{Tracker, TrackingMode};
use crate::session::Session;
use std::collections::BTreeSet;
use std::sync::Arc;

const TWO_REDIRECTS: &str = "ERR A client can only redirect to a single other client";
const NO_SUCH_CLIENT: &str = "ERR The client ID you want redirect to does not exist";
const PREFIX_ALONE: &str = "ERR PREFIX option requires BCAST mode to be enabled";
const BROADCAST_SWITCHED: &str = "ERR You can't switch BCAST mode on/off before disabling tracking for this \
     client, and then re-enabling it with a different mode.";
const BROADCAST_CHOOSES: &str = "ERR OPTIN and OPTOUT are not compatible with BCAST";
const BOTH_CHOICES: &str = "ERR You can't specify both OPTIN mode and OPTOUT mode";
const CHOICE_SWITCHED: &str = "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this \
     client, and then re-enabling it with a different mode.";

/// The options of CLIENT TRACKING.
#[derive(Debug, Default)]
struct Options<'a> {
    redirect: Option<u64>,
    is_broadcast: bool,
    is_opt_in: bool,
    is_opt_out: bool,
    is_noloop: bool,
    prefixes: Vec<&'a [u8]>,
}

impl<'a> Options<'a> {
    fn read(call: &Call<'a, '_>) -> Result<Self, CommandError> {
        let (args, mut options) = (call.args, Self::default());
        let mut at = 3;
        while at < args.len() {
            let has_more = at + 1 < args.len();
            match args.at(at).to_ascii_lowercase().as_slice() {
                b"redirect" if has_more => {
                    at += 1;
                    if options.redirect.is_some() {
                        return Err(CommandError::fixed(TWO_REDIRECTS));
                    }
                    let id = u64::try_from(call.integer_arg(at)?).ok();
                    let client = id.and_then(|id| call.server.clients.get(id));
                    let client = client.ok_or(CommandError::fixed(NO_SUCH_CLIENT))?;
                    options.redirect = Some(client.id());
                }
                b"bcast" => options.is_broadcast = true,
                b"optin" => options.is_opt_in = true,
                b"optout" => options.is_opt_out = true,
                b"noloop" => options.is_noloop = true,
                b"prefix" if has_more => {
                    at += 1;
                    options.prefixes.push(args.at(at));
                }
                _ => return Err(CommandError::SYNTAX),
            }
            at += 1;
        }
        Ok(options)
    }

    /// Returns which keys are tracked from now on, in place of how that was before.
    fn mode(&self, before: Option<TrackingMode>) -> Result<TrackingMode, CommandError> {
        let is_switched = before.is_some_and(|mode| (mode == TrackingMode::Broadcast) != self.is_broadcast);
        let has_other_choice = self.is_opt_in && before == Some(TrackingMode::OptOut)
            || self.is_opt_out && before == Some(TrackingMode::OptIn);
        let refusals = [
            (!self.is_broadcast && !self.prefixes.is_empty(), PREFIX_ALONE),
            (is_switched, BROADCAST_SWITCHED),
            (self.is_broadcast && (self.is_opt_in || self.is_opt_out), BROADCAST_CHOOSES),
            (self.is_opt_in && self.is_opt_out, BOTH_CHOICES),
            (has_other_choice, CHOICE_SWITCHED),
        ];
        if let Some((_, text)) = refusals.iter().find(|(is_refused, _)| *is_refused) {
            return Err(CommandError::fixed(text));
        }
        Ok(match () {
            () if self.is_broadcast => TrackingMode::Broadcast,
            () if self.is_opt_in => TrackingMode::OptIn,
            () if self.is_opt_out => TrackingMode::OptOut,
            () => TrackingMode::Reads,
        })
    }

    /// Returns the prefixes, those of before among them.
    ///
    /// # Errors
    ///
    /// If a key may have two of them. Of several pairs, which one it names may differ from Redis.
    fn prefixes(&self, before: Option<&Tracker>) -> Result<BTreeSet<Box<[u8]>>, CommandError> {
        let overlap = |new: &[u8], which: &str, other: &[u8]| {
            let text = [b"ERR Prefix '", new, b"' overlaps with ", which.as_bytes(), b" prefix '", other];
            let after = b"'. Prefixes for a single client must not overlap.";
            CommandError::from_bytes([&text.concat()[..], after].concat())
        };
        let known = || before.into_iter().flat_map(Tracker::prefixes);
        // All between a prefix and a longer one of it, in ascending order, begin with it as well.
        let given = self.prefixes.iter().enumerate().map(|(at, prefix)| (*prefix, Some(at)));
        let mut all: Vec<_> = known().map(|prefix| (prefix, None)).chain(given).collect();
        all.sort_unstable();
        let overlaps = all.windows(2).filter(|pair| pair[1].0.starts_with(pair[0].0));
        let pairs = overlaps.map(|pair| match (pair[0], pair[1]) {
            ((known, None), (given, Some(at))) | ((given, Some(at)), (known, None)) => {
                (at, given, "an existing", known)
            }
            ((one, at), (other, other_at)) if at < other_at => {
                (at.unwrap_or_default(), one, "another provided", other)
            }
            ((other, _), (one, at)) => (at.unwrap_or_default(), one, "another provided", other),
        });
        if let Some((_, prefix, which, other)) = pairs.min() {
            return Err(overlap(prefix, which, other));
        }
        // Without a prefix all keys are tracked.
        let is_all = self.is_broadcast && self.prefixes.is_empty();
        let all = is_all.then(Box::default);
        let new = self.prefixes.iter().copied().map(Box::from);
        Ok(known().map(Box::from).chain(new).chain(all).collect())
    }
}

pub(super) fn set(call: &mut Call<'_, '_>) -> CommandResult {
    let options = Options::read(call)?;
    if call.args.is(2, "off") {
        end(call);
        return call.ok();
    }
    if !call.args.is(2, "on") {
        return Err(CommandError::SYNTAX);
    }
    let before = call.session.tracking.as_deref();
    let mode = options.mode(before.map(Tracker::mode))?;
    let prefixes = options.prefixes(before)?;
    let client = call.session.client.clone();
    let tracker = Tracker::new(client, mode, options.is_noloop, options.redirect, prefixes);
    let tracker = Arc::new(tracker);
    call.server.tracking.begin(&tracker, |is_tracked| call.keys.set_tracked(is_tracked));
    call.session.tracking = Some(tracker);
    call.ok()
}

/// Ends the tracking of the session.
pub(super) fn end(call: &mut Call<'_, '_>) {
    call.session.has_chosen_caching = false;
    if call.session.tracking.take().is_some() {
        call.server.tracking.end(call.session.id(), |is_tracked| call.keys.set_tracked(is_tracked));
    }
}

pub(super) fn caching(call: &mut Call<'_, '_>) -> CommandResult {
    let Some(tracker) = &call.session.tracking else {
        return Err(CommandError::fixed(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT \
             mode enabled",
        ));
    };
    let (wanted, refusal) = choice(call.args)?;
    if tracker.mode() != wanted {
        return Err(CommandError::fixed(refusal));
    }
    call.session.has_chosen_caching = true;
    call.ok()
}

/// Returns the mode in which CLIENT CACHING is valid, and the error in any other.
fn choice(args: Args<'_>) -> Result<(TrackingMode, &'static str), CommandError> {
    if args.is(2, "yes") {
        let refusal = "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.";
        return Ok((TrackingMode::OptIn, refusal));
    }
    if args.is(2, "no") {
        let refusal = "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.";
        return Ok((TrackingMode::OptOut, refusal));
    }
    Err(CommandError::SYNTAX)
}

/// Returns the number of the session that gets the messages: 0 if that is this one, -1 if it does
/// not track.
pub(super) fn redirect_of(tracker: Option<&Tracker>) -> i64 {
    let id = tracker.map(|tracker| tracker.redirect().unwrap_or(0));
    id.map_or(-1, |id| i64::try_from(id).unwrap_or(i64::MAX))
}

pub(super) fn redirect(call: &mut Call<'_, '_>) -> CommandResult {
    call.integer(redirect_of(call.session.tracking.as_deref()))
}

/// Returns the flags of CLIENT TRACKINGINFO.
fn flags(session: &Session) -> Vec<&'static str> {
    let Some(tracker) = &session.tracking else { return vec!["off"] };
    let has_mode = |mode| tracker.mode() == mode;
    let has_chosen = session.has_chosen_caching;
    let all = [
        (true, "on"),
        (has_mode(TrackingMode::Broadcast), "bcast"),
        (has_mode(TrackingMode::OptIn), "optin"),
        (has_mode(TrackingMode::OptIn) && has_chosen, "caching-yes"),
        (has_mode(TrackingMode::OptOut), "optout"),
        (has_mode(TrackingMode::OptOut) && has_chosen, "caching-no"),
        (tracker.is_noloop(), "noloop"),
        (tracker.is_broken(), "broken_redirect"),
    ];
    all.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect()
}

pub(super) fn info(call: &mut Call<'_, '_>) -> CommandResult {
    let tracker = call.session.tracking.as_deref();
    let (flags, reply) = (flags(call.session), &mut *call.reply);
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"redirect");
    reply.integer(redirect_of(tracker));
    reply.bulk(b"prefixes");
    let prefixes: Vec<&[u8]> = tracker.into_iter().flat_map(Tracker::prefixes).collect();
    reply.array(prefixes.len());
    prefixes.iter().for_each(|prefix| reply.bulk(prefix));
    call.done()
}
