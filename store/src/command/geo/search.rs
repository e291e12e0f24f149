//! GEOSEARCH, GEORADIUS and their siblings.

use super::cell;
use super::options::{Form, Order, Query};
use super::point::Point;
use super::shape::Shape;
use crate::command::{Call, CommandResult, EventClass};
use crate::resp::Reply;
use crate::value::{SortedSet, Value, ValueRef};
use std::cmp::Ordering;

/// A member that a search has found.
struct Match<'s> {
    member: &'s [u8],
    score: f64,
    point: Point,
    /// In meters.
    distance: f64,
}

pub(super) fn georadius(call: &mut Call<'_, '_>) -> CommandResult {
    search(call, Form::Coordinates { may_store: true })
}

pub(super) fn georadius_ro(call: &mut Call<'_, '_>) -> CommandResult {
    search(call, Form::Coordinates { may_store: false })
}

pub(super) fn georadiusbymember(call: &mut Call<'_, '_>) -> CommandResult {
    search(call, Form::Member { may_store: true })
}

pub(super) fn georadiusbymember_ro(call: &mut Call<'_, '_>) -> CommandResult {
    search(call, Form::Member { may_store: false })
}

pub(super) fn geosearch(call: &mut Call<'_, '_>) -> CommandResult {
    search(call, Form::Search)
}

pub(super) fn geosearchstore(call: &mut Call<'_, '_>) -> CommandResult {
    search(call, Form::SearchStore)
}

fn search(call: &mut Call<'_, '_>, form: Form) -> CommandResult {
    let (args, limits) = (call.args, call.limits());
    let set = call.keys.get(args.at(form.source())).map(ValueRef::as_sorted_set).transpose()?;
    let query = Query::parse(args, form, set)?;
    let found = match (set, query.shape()) {
        (Some(set), Some(shape)) => chosen(find(set, &shape, query.enough()), &query),
        _ => Vec::new(),
    };
    let Some(destination) = query.destination else {
        write(call.reply, &found, &query);
        return call.done();
    };
    let mut stored = SortedSet::new();
    for found in &found {
        let score = if query.stores_distances { found.distance / query.unit } else { found.score };
        stored.insert(found.member, score, &limits);
    }
    let event = if form.is_search() { "geosearchstore" } else { "georadiusstore" };
    let (len, value) = (stored.len(), Value::SortedSet(Box::new(stored)));
    if len > 0 || call.keys.contains(destination) {
        // Another machine may find other distances.
        call.replay([&b"DEL"[..], destination]);
    }
    if len > 0 {
        call.effects.restore(call.keys.database(), destination, &value, None);
    }
    call.store(EventClass::SortedSet, event, destination, value, len)
}

/// Returns the members in a shape, but no more than are `enough`.
fn find<'s>(set: &'s SortedSet, shape: &Shape, enough: usize) -> Vec<Match<'s>> {
    let members = shape.cells().into_iter().flat_map(|cell| {
        let scores = cell.scores();
        let start = set.partition_point(|score, _| score < scores.start);
        set.range(start..set.partition_point(|score, _| score < scores.end))
    });
    let matches = members.filter_map(|(member, score)| {
        let point = cell::point(score);
        shape.distance_inside(point).map(|distance| Match { member, score, point, distance })
    });
    matches.take(enough).collect()
}

/// Orders what was found, and leaves as many as are asked for.
fn chosen<'s>(mut found: Vec<Match<'s>>, query: &Query<'_>) -> Vec<Match<'s>> {
    let nearer = |one: &Match<'_>, other: &Match<'_>| one.distance.total_cmp(&other.distance);
    let direct = |order: Ordering| if query.order == Order::Farthest { order.reverse() } else { order };
    if query.order != Order::Any {
        found.sort_by(|one, other| direct(nearer(one, other)));
    }
    found.truncate(query.count.unwrap_or(usize::MAX));
    found
}

/// Writes what was found, with what the query asks for.
fn write(reply: &mut Reply, found: &[Match<'_>], query: &Query<'_>) {
    let options = [query.has_distances, query.has_hashes, query.has_coordinates];
    let width = 1 + options.into_iter().filter(|&is_wanted| is_wanted).count();
    reply.array(found.len());
    for found in found {
        if width > 1 {
            reply.array(width);
        }
        reply.bulk(found.member);
        if query.has_distances {
            write_distance(reply, found.distance / query.unit);
        }
        if query.has_hashes {
            reply.integer(found.score as i64);
        }
        if query.has_coordinates {
            write_point(reply, found.point);
        }
    }
}

/// Writes a distance with four digits.
pub(super) fn write_distance(reply: &mut Reply, distance: f64) {
    // As Redis does it: first the product is rounded, and a tie goes to the even number.
    let digits = (distance * 10_000.0).round_ties_even() as u64;
    reply.bulk(format!("{}.{:04}", digits / 10_000, digits % 10_000).as_bytes());
}

/// Writes the coordinates of a point.
pub(super) fn write_point(reply: &mut Reply, point: Point) {
    reply.array(2);
    reply.fixed_double(point.longitude);
    reply.fixed_double(point.latitude);
}
