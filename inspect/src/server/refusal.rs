//! What becomes of requests that are not answered.

use super::Response;

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no HTTP.
    Malformed,
    /// Its head is too long.
    TooLong,
    /// It is not a GET.
    Method,
    /// It came too slowly.
    Slow,
    /// The client has closed the connection, or it has failed.
    Gone,
    /// It asks for a host name that another site may have.
    Host,
    /// A page of another site has sent it.
    CrossSite,
    /// It lacks the header that pages of other sites cannot send.
    Unmarked,
    /// There is nothing at its path.
    Path,
    /// A parameter is missing or out of range.
    Parameter,
    /// Too many connections or recordings at the same time.
    Busy,
    /// The runtime has ended, or there is none yet.
    Ended,
}

impl Refusal {
    /// Returns what the client is told.
    pub fn response(self) -> Response {
        let (status, text) = match self {
            Self::Malformed | Self::Gone => ("400 Bad Request", "This is no HTTP request."),
            Self::TooLong => ("431 Request Header Fields Too Large", "The head of the request is too long."),
            Self::Method => ("405 Method Not Allowed", "There is only GET."),
            Self::Slow => ("408 Request Timeout", "The request took too long."),
            Self::Host => (
                "403 Forbidden",
                "This host name is not allowed; ask by an address or localhost, or name the host in \
                 `Builder::host`.",
            ),
            Self::CrossSite => ("403 Forbidden", "Pages of other sites may not ask for this."),
            Self::Unmarked => ("403 Forbidden", "Send the header `XTasking-Page: 1`, as the page does."),
            Self::Path => ("404 Not Found", "There is nothing here; see / and /metrics."),
            Self::Parameter => ("400 Bad Request", "Choose seconds from 0.1 to 30."),
            Self::Busy => ("503 Service Unavailable", "Too much is asked for at the same time; try again."),
            Self::Ended => ("503 Service Unavailable", "There is no runtime now."),
        };
        let response = Response::plain(status, text);
        if self == Self::Method { response.header("Allow", "GET") } else { response }
    }
}
