//! Why a rule of a user is not taken.

/// Why a rule is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleError {
    /// There is no such command or category.
    UnknownCommand,
    /// It is not understood.
    Syntax,
    /// A pattern of keys after all keys were allowed.
    AllKeys,
    /// A pattern of channels after all channels were allowed.
    AllChannels,
    /// A password to remove is not there.
    NoSuchPassword,
    /// What should be a hash is none.
    Hash,
    /// The first argument of a subcommand.
    OfSubcommand,
}

impl RuleError {
    /// Returns what is wrong, in Redis' words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::UnknownCommand => "Unknown command or category name in ACL",
            Self::Syntax => "Syntax error",
            Self::AllKeys => {
                "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have \
                 any effect. Try 'resetkeys' to start with an empty list of patterns"
            }
            Self::AllChannels => {
                "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not \
                 have any effect. Try 'resetchannels' to start with an empty list of channels"
            }
            Self::NoSuchPassword => "The password you are trying to remove from the user does not exist",
            Self::Hash => {
                "The password hash must be exactly 64 characters and contain only lowercase hexadecimal \
                 characters"
            }
            Self::OfSubcommand => "Allowing first-arg of a subcommand is not supported",
        }
    }
}
