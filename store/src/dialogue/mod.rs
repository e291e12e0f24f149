//! A client's requests and replies, whatever carries their bytes.
//!
//! What carries them is an object of the runtime that has a [`Dialogue`]. It appends what has come
//! to [`Dialogue::input`], calls [`Dialogue::run`], and sends what that appends to the output.
//! Requests that wait go on in other tasks. Their replies are [`News`], which its [`Host`] brings
//! back by a task on the object.
//!
//! ```
//! use xtasking::task::Spawner;
//! use xtasking::{Object, Plain, Priority, Runtime};
//! use xtasking_store::Engine;
//! use xtasking_store::dialogue::{Dialogues, Dialogue, Host, News};
//!
//! /// A connection: what it has to send is kept here.
//! struct Carrier {
//!     dialogue: Dialogue,
//!     output: Vec<u8>,
//! }
//!
//! #[derive(Clone)]
//! struct Place(Object<Plain<Carrier>>);
//!
//! impl Host for Place {
//!     fn bring<S: Spawner>(&self, spawner: S, news: News) {
//!         let this = self.clone();
//!         spawner.task(self.0.write()).priority(Priority::Normal).spawn(move |carrier, cx| {
//!             carrier.dialogue.take(news, &mut carrier.output, 0, cx);
//!             carrier.dialogue.run(&this, &mut carrier.output, 0, cx);
//!         });
//!     }
//! }
//!
//! let rt = Runtime::builder().workers(2).build()?;
//! let dialogues = Dialogues::default();
//! let engine = dialogues.attach(Engine::builder(), &rt).build(&rt);
//! let dialogue = dialogues.open(&engine, "a pipe", "").expect("there are not too many");
//! let id = dialogue.id();
//! let place = Place(rt.plain(Carrier { dialogue, output: Vec::new() }).build());
//! dialogues.insert(&rt, id, place.clone());
//!
//! let this = place.clone();
//! rt.task(place.0.write()).spawn(move |carrier, cx| {
//!     carrier.dialogue.input().extend_from_slice(b"SET a 1\r\nINCR a\r\n");
//!     carrier.dialogue.run(&this, &mut carrier.output, 0, cx);
//! });
//! let output = rt.task(place.0.read()).submit(|carrier, _cx| carrier.output.clone()).join()?;
//! assert_eq!(output, b"+OK\r\n:2\r\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `dialogues` | [`Dialogues`]: all dialogues, to be reached from elsewhere |
//! | `news` | [`News`]: what comes from elsewhere |
//! | `parts` | replies that come before the last ones |
//! | `refusal` | clients that are not served |
//! | `rest` | requests that wait for room |
//! | `talk` | [`Dialogue`] |
//! | `upkeep` | what happens again and again |
//! | `way_back` | how a session comes back |

mod dialogues;
mod news;
mod parts;
mod refusal;
mod rest;
mod talk;
#[cfg(test)]
mod tests;
mod upkeep;
mod way_back;

pub use dialogues::Dialogues;
pub use news::{Host, News};
pub use refusal::{DENIED, TOO_MANY, has_protected_mode};
pub use talk::{Dialogue, Phase};
