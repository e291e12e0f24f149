//! The arguments of a search.

use super::arguments;
use super::cell;
use super::point::Point;
use super::shape::{Shape, Size};
use crate::command::CommandError;
use crate::command::error::printed;
use crate::resp::{Args, parse_integer};
use crate::value::SortedSet;

/// Where a command has the center, and what else its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `key longitude latitude radius unit`: GEORADIUS.
    Coordinates { may_store: bool },
    /// `key member radius unit`: GEORADIUSBYMEMBER.
    Member { may_store: bool },
    /// `key`, and options for all else: GEOSEARCH.
    Search,
    /// `destination key`, and options for all else: GEOSEARCHSTORE.
    SearchStore,
}

/// The order of what a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As it is found.
    Any,
    Nearest,
    Farthest,
}

/// A search.
#[derive(Debug)]
pub(super) struct Query<'a> {
    /// `None` if there is no key in which to look for the center.
    center: Option<Point>,
    size: Option<Size>,
    /// The unit of distances, in meters.
    pub(super) unit: f64,
    pub(super) has_distances: bool,
    pub(super) has_hashes: bool,
    pub(super) has_coordinates: bool,
    pub(super) order: Order,
    /// The most members.
    pub(super) count: Option<usize>,
    /// Whether it ends as soon as it has found that many.
    pub(super) is_any: bool,
    pub(super) destination: Option<&'a [u8]>,
    /// Whether the distances are stored, not the places.
    pub(super) stores_distances: bool,
    /// Whether an option has said where the center is: which one.
    has_member: bool,
    has_point: bool,
}

impl Form {
    /// Returns the position of the key with the places.
    pub(super) fn source(self) -> usize {
        if self == Self::SearchStore { 2 } else { 1 }
    }

    /// Returns the position of the first option.
    fn options(self) -> usize {
        match self {
            Self::Coordinates { .. } => 6,
            Self::Member { .. } => 5,
            Self::Search => 2,
            Self::SearchStore => 3,
        }
    }

    /// Returns true if options say where to search.
    pub(super) fn is_search(self) -> bool {
        matches!(self, Self::Search | Self::SearchStore)
    }

    /// Returns true if options may say where to store.
    fn may_store(self) -> bool {
        matches!(self, Self::Coordinates { may_store: true } | Self::Member { may_store: true })
    }
}

/// Returns the place of a member.
fn place(set: &SortedSet, member: &[u8]) -> Result<Point, CommandError> {
    let score = set.score(member);
    score.map(cell::point).ok_or(CommandError::fixed("ERR could not decode requested zset member"))
}

impl<'a> Query<'a> {
    /// Reads the arguments. Without a set there are no members, and the search finds nothing.
    pub(super) fn parse(args: Args<'a>, form: Form, set: Option<&SortedSet>) -> Result<Self, CommandError> {
        let mut query = Self::begin(args, form, set)?;
        let mut at = form.options();
        while at < args.len() {
            at += query.option(args.skip(at), form, set)?;
        }
        query.check(args, form)?;
        // The nearest ones are those that a count means, unless any will do.
        if query.count.is_some() && query.order == Order::Any && !query.is_any {
            query.order = Order::Nearest;
        }
        Ok(query)
    }

    /// Reads what comes before the options.
    fn begin(args: Args<'a>, form: Form, set: Option<&SortedSet>) -> Result<Self, CommandError> {
        let (mut center, mut size) = (None, None);
        match (form, set) {
            (Form::Coordinates { .. }, _) => {
                center = Some(arguments::point(args, 2)?);
                size = Some(arguments::radius(args, 4)?);
            }
            (Form::Member { .. }, Some(set)) => {
                center = Some(place(set, args.at(2))?);
                size = Some(arguments::radius(args, 3)?);
            }
            _ => {}
        }
        Ok(Self {
            center,
            size: size.map(|(size, _)| size),
            unit: size.map_or(1.0, |(_, unit)| unit),
            has_distances: false,
            has_hashes: false,
            has_coordinates: false,
            order: Order::Any,
            count: None,
            is_any: false,
            destination: (form == Form::SearchStore).then(|| args.at(1)),
            stores_distances: false,
            has_member: false,
            has_point: false,
        })
    }

    /// Reads an option. Returns the number of its arguments.
    fn option(&mut self, args: Args<'a>, form: Form, set: Option<&SortedSet>) -> Result<usize, CommandError> {
        let (word, len) = (args.at(0).to_ascii_lowercase(), args.len());
        match word.as_slice() {
            b"withdist" => self.has_distances = true,
            b"withhash" => self.has_hashes = true,
            b"withcoord" => self.has_coordinates = true,
            b"any" => self.is_any = true,
            b"asc" => self.order = Order::Nearest,
            b"desc" => self.order = Order::Farthest,
            b"count" if len > 1 => {
                let count = parse_integer(args.at(1)).ok_or(CommandError::NOT_AN_INTEGER)?;
                let count = usize::try_from(count).ok().filter(|&count| count > 0);
                self.count = Some(count.ok_or(CommandError::fixed("ERR COUNT must be > 0"))?);
                return Ok(2);
            }
            b"store" | b"storedist" if form.may_store() && len > 1 => {
                self.destination = Some(args.at(1));
                self.stores_distances = word == b"storedist";
                return Ok(2);
            }
            b"storedist" if form == Form::SearchStore => self.stores_distances = true,
            _ if form.is_search() => return self.search_option(&word, args, set),
            _ => return Err(CommandError::SYNTAX),
        }
        Ok(1)
    }

    /// Reads an option that says where to search.
    fn search_option(
        &mut self,
        word: &[u8],
        args: Args<'a>,
        set: Option<&SortedSet>,
    ) -> Result<usize, CommandError> {
        let is_box = matches!(self.size, Some(Size::Sides { .. }));
        let is_circle = matches!(self.size, Some(Size::Radius(_)));
        match word {
            b"frommember" if args.len() > 1 && !self.has_point => {
                self.center = set.map(|set| place(set, args.at(1))).transpose()?;
                self.has_member = true;
                Ok(2)
            }
            b"fromlonlat" if args.len() > 2 && !self.has_member => {
                self.center = Some(arguments::point(args, 1)?);
                self.has_point = true;
                Ok(3)
            }
            b"byradius" if args.len() > 2 && !is_box => {
                self.set_size(arguments::radius(args, 1)?);
                Ok(3)
            }
            b"bybox" if args.len() > 3 && !is_circle => {
                self.set_size(arguments::sides(args, 1)?);
                Ok(4)
            }
            _ => Err(CommandError::SYNTAX),
        }
    }

    fn set_size(&mut self, (size, unit): (Size, f64)) {
        (self.size, self.unit) = (Some(size), unit);
    }

    /// Checks that the options suit each other.
    fn check(&self, args: Args<'_>, form: Form) -> Result<(), CommandError> {
        let adds = self.has_distances || self.has_hashes || self.has_coordinates;
        let name = printed(args.at(0), usize::MAX);
        let one_of = |what: &str| {
            let text = format!("ERR exactly one of {what} can be specified for ");
            Err(CommandError::from_bytes([text.as_bytes(), name].concat()))
        };
        if self.destination.is_some() && adds {
            let what = if form.is_search() { "GEOSEARCHSTORE" } else { "STORE option in GEORADIUS" };
            let text = "is not compatible with WITHDIST, WITHHASH and WITHCOORD options";
            return Err(CommandError::new(format!("ERR {what} {text}")));
        }
        if form.is_search() && !self.has_member && !self.has_point {
            return one_of("FROMMEMBER or FROMLONLAT");
        }
        if form.is_search() && self.size.is_none() {
            return one_of("BYRADIUS and BYBOX");
        }
        if self.is_any && self.count.is_none() {
            return Err(CommandError::fixed("ERR the ANY argument requires COUNT argument"));
        }
        Ok(())
    }

    /// Returns where to search, if there is a key to search in.
    pub(super) fn shape(&self) -> Option<Shape> {
        Some(Shape { center: self.center?, size: self.size? })
    }

    /// Returns how many members end the search.
    pub(super) fn enough(&self) -> usize {
        self.count.filter(|_| self.is_any).unwrap_or(usize::MAX)
    }
}

/// Returns the positions of the keys among the arguments of GEORADIUS and GEORADIUSBYMEMBER.
pub(super) fn keys(args: Args<'_>) -> Vec<usize> {
    let mut destination = None;
    let mut at = 5;
    while at + 1 < args.len() {
        if args.is(at, "store") || args.is(at, "storedist") {
            at += 1;
            destination = Some(at);
        }
        at += 1;
    }
    std::iter::once(1).chain(destination).collect()
}
