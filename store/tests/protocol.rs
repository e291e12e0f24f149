//! The parser gives the same requests however the bytes arrive, and never panics.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use xtasking_store::resp::{Limits, Parser, Protocol, Reply};

/// The requests and the error that come of pieces.
fn parse<'a>(
    limits: Limits,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Vec<Vec<u8>>>, Option<String>) {
    let mut parser = Parser::default();
    parser.set_limits(limits);
    let (mut all, mut failure) = (Vec::new(), None);
    for piece in pieces {
        parser.input().extend_from_slice(piece);
        let (requests, error) = parser.parse();
        for index in 0..requests.len() {
            all.push(requests.args(index).iter().map(<[u8]>::to_vec).collect());
        }
        failure = failure.or(error.map(|error| error.to_string()));
    }
    (all, failure)
}

fn encode(args: &[Vec<u8>]) -> Vec<u8> {
    let mut request = Reply::new(Protocol::Two);
    request.array(args.len());
    args.iter().for_each(|arg| request.bulk(arg));
    request.into_bytes()
}

#[test]
fn requests_are_the_same_in_two_pieces_at_each_byte() {
    let inputs: [&[u8]; 8] = [
        b"*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
        b"PING\r\nSET a 'b c'\nGET \"\\x41\"\r\n\r\n",
        b"*0\r\n*-1\r\n*2\r\n$4\r\nECHO\r\n$0\r\n\r\n",
        b"*1\r\n$4\r\nPING\r\n*1\r\n!4\r\nPING\r\n",
        b"*x\r\nPING\r\n",
        b"*1\r\n$-1\r\n",
        b"PING 'x\r\n",
        b"*3\r\n$3\r\nSET\r\n$2\r\n\r\n\r\n$1\r\n\0\r\nPING\r\n",
    ];
    for input in inputs {
        let whole = parse(Limits::default(), [input]);
        for at in 0..=input.len() {
            assert_eq!(parse(Limits::default(), [&input[..at], &input[at..]]), whole, "at {at}");
        }
        assert_eq!(parse(Limits::default(), input.chunks(1)), whole);
    }
}

#[test]
fn limits_are_kept_with_redis_errors() {
    let long = vec![b'x'; 70_000];
    let header = [b"*", &long[..]].concat();
    let bulk_header = [b"*1\r\n$", &long[..]].concat();
    let shy = Limits { is_authenticated: false, ..Limits::default() };
    let short = Limits { longest_arg: 1 << 20, ..Limits::default() };
    let cases: [(Limits, &[u8], &str); 10] = [
        (Limits::default(), &long, "too big inline request"),
        (Limits::default(), &header, "too big mbulk count string"),
        (Limits::default(), &bulk_header, "too big bulk count string"),
        (Limits::default(), b"*3000000000\r\n", "invalid multibulk length"),
        (Limits::default(), b"*1\r\n$x\r\n", "invalid bulk length"),
        (short, b"*1\r\n$1048577\r\n", "invalid bulk length"),
        (Limits::default(), b"*1\r\nPING\r\n", "expected '$', got 'P'"),
        (Limits::default(), b"a \"b\r\n", "unbalanced quotes in request"),
        (shy, b"*11\r\n", "unauthenticated multibulk length"),
        (shy, b"*1\r\n$16385\r\n", "unauthenticated bulk length"),
    ];
    for (limits, input, expected) in cases {
        let (requests, error) = parse(limits, [input]);
        assert!(requests.is_empty());
        assert_eq!(error, Some(format!("ERR Protocol error: {expected}")));
    }
}

#[test]
fn bytes_that_are_no_request_are_not_kept() {
    let mut parser = Parser::default();
    for input in ["\r\n\r\n", "*0\r\n*-1\r\n", "\r\n*0\r\n*1"] {
        parser.input().extend_from_slice(input.as_bytes());
        assert!(parser.parse().0.is_empty());
        assert!(parser.buffered() <= 2, "{input:?}");
    }
    parser.input().extend_from_slice(b"\r\n$4\r\nPING\r\n");
    assert_eq!(&parser.parse().0.args(0)[0], b"PING");
    assert_eq!(parser.buffered(), 0);
}

#[test]
fn requests_before_a_long_one_may_authenticate() {
    let shy = Limits { is_authenticated: false, ..Limits::default() };
    let many = encode(&vec![b"x".to_vec(); 11]);
    let long = encode(&[b"SET".to_vec(), vec![b'x'; 16 * 1024 + 1]]);
    for rest in [many, long] {
        for authenticates in [true, false] {
            let mut parser = Parser::default();
            parser.set_limits(shy);
            parser.input().extend_from_slice(b"AUTH secret\r\n");
            parser.input().extend_from_slice(&rest);
            let (requests, error) = parser.parse();
            assert_eq!((requests.len(), error), (1, None));
            parser.set_limits(Limits { is_authenticated: authenticates, ..shy });
            let (requests, error) = parser.parse();
            assert_eq!((requests.len() == 1, error.is_none()), (authenticates, authenticates));
        }
    }
}

proptest! {
    #[test]
    fn requests_are_found_in_pieces_of_any_size(
        requests in vec(vec(vec(any::<u8>(), 0..40), 1..5), 0..8),
        cuts in vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let bytes: Vec<u8> = requests.iter().flat_map(|args| encode(args)).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(parse(Limits::default(), pieces), (requests, None));
    }

    #[test]
    fn any_bytes_are_requests_or_one_error(
        bytes in vec(prop_oneof![any::<u8>(), select(b"*$\r\n0123 '\"\\x-".to_vec())], 0..200),
    ) {
        let whole = parse(Limits::default(), [&bytes[..]]);
        prop_assert_eq!(parse(Limits::default(), bytes.chunks(1)), whole);
    }
}
