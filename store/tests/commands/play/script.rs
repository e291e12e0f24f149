//! The families of commands, with their replies.

/// Commands, and the replies that Redis gives.
const SCRIPT: &str = include_str!("../script.txt");

/// Commands on keys of their own.
pub struct Family {
    pub name: &'static str,
    pub steps: Vec<Step>,
}

/// A command, or a reply that comes later.
pub struct Step {
    /// The number of its line.
    pub line: usize,
    pub session: &'static str,
    /// Empty for a reply that comes later.
    pub command: &'static str,
    pub expected: Expected,
}

/// The reply that a command should have, with a space for each end of a line.
#[derive(Clone, Copy)]
pub enum Expected {
    Reply(&'static str),
    /// The command is repeated until it has this reply.
    Until(&'static str),
    /// The reply comes later.
    Later,
}

/// Returns the families of the script.
///
/// # Errors
///
/// The first line that is neither a family nor a command with its reply.
pub fn families() -> Result<Vec<Family>, String> {
    let mut families: Vec<Family> = Vec::new();
    for (index, line) in SCRIPT.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            families.push(Family { name, steps: Vec::new() });
            continue;
        }
        let step = step(index + 1, line).zip(families.last_mut());
        let (step, family) = step.ok_or_else(|| format!("line {} of the script: {line}", index + 1))?;
        family.steps.push(step);
    }
    Ok(families)
}

fn step(line: usize, text: &'static str) -> Option<Step> {
    let (command, expected) = match text.split_once(" ~> ") {
        Some((command, reply)) => (command, Expected::Until(reply)),
        None => match text.split_once("=> ")? {
            (command, "...") => (command, Expected::Later),
            (command, reply) => (command, Expected::Reply(reply)),
        },
    };
    let named = command.split_once(": ").filter(|(session, _)| session.len() == 1);
    let (session, command) = named.unwrap_or(("", command));
    Some(Step { line, session, command: command.trim_end(), expected })
}
