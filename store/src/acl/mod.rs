//! Users and what they may do: access control as Redis 7.0 has it.
//!
//! | file | contents |
//! |---|---|
//! | `registry` | [`Acl`]: all users |
//! | `account` | [`Account`]: a user as sessions hold it; [`Login`]: what a session has of it |
//! | `user` | [`User`]: passwords and selectors |
//! | `selector` | [`Selector`]: commands, keys and channels that go together |
//! | `command_set` | [`CommandSet`]: which commands |
//! | `catalog` | all commands by number, and their categories |
//! | `needs` | which keys and channels a request names, and what for |
//! | `password` | passwords as hashes |
//! | `rule_error` | [`RuleError`]: why a rule is not taken |
//! | `file` | users as lines of a file |
//! | `denials` | [`Denials`]: requests that were refused, for ACL LOG |
//!
//! A session holds its account. Most users have all rights, which is one flag of the account: then
//! nothing else is looked at. A session of another user keeps a copy of the user, and takes a new
//! one when the account's version has changed.

mod account;
mod catalog;
mod command_set;
mod denials;
mod file;
mod needs;
mod password;
mod registry;
mod rule_error;
mod selector;
mod user;

pub(crate) use account::{Account, Login};
pub(crate) use catalog::{CATEGORIES, category, in_category};
pub(crate) use command_set::CommandSet;
pub(crate) use denials::{DenialReason, Denials, DeniedRequest, shortened};
pub(crate) use file::{parse_file, show_line};
pub(crate) use needs::{Needs, needs_of};
pub(crate) use registry::{Acl, RulesError};
pub(crate) use rule_error::RuleError;
pub(crate) use selector::{Denial, Selector};
pub(crate) use user::{User, is_user_name};
