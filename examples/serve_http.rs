//! How a web service uses the runtime: handlers of axum share accounts, and move money between
//! them. A request that touches two accounts for a moment is a call; the report over all accounts
//! is a task, which a worker runs.
//!
//! `cargo run --release -p xtasking-examples --features web --example serve_http`

#![forbid(unsafe_code)]

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Router, serve};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use tokio::net::TcpListener;
use xtasking::primitive::SpinLatch;
use xtasking::{JoinError, Object, Plain, Runtime, RuntimeHandle};

/// What all handlers share.
#[derive(Clone)]
struct Bank {
    rt: RuntimeHandle,
    accounts: Arc<[Object<Plain<i64>>]>,
}

/// A panic or a shutdown ends one request, not the service.
fn failed(_: JoinError) -> StatusCode {
    StatusCode::INTERNAL_SERVER_ERROR
}

async fn transfer(
    State(bank): State<Bank>,
    Path((from, to, amount)): Path<(usize, usize, i64)>,
) -> Result<String, StatusCode> {
    let account = |number: usize| bank.accounts.get(number).ok_or(StatusCode::NOT_FOUND);
    if from == to {
        return Err(StatusCode::BAD_REQUEST);
    }
    // Runs here if no task has the accounts, else on a worker.
    let both = (account(from)?.write(), account(to)?.write());
    let moved = bank.rt.task(both).call(move |(from, to)| {
        let is_covered = *from >= amount;
        if is_covered {
            *from -= amount;
            *to += amount;
        }
        is_covered
    });
    match moved.await.map_err(failed)? {
        true => Ok(format!("moved {amount}\n")),
        false => Err(StatusCode::CONFLICT),
    }
}

async fn total(State(bank): State<Bank>) -> Result<String, StatusCode> {
    // Reads all accounts at one moment. No thread of tokio waits.
    let all: Vec<_> = bank.accounts.iter().map(Object::read).collect();
    let sum = bank.rt.task(all).submit(|accounts, _cx| accounts.into_iter().sum::<i64>());
    Ok(format!("{}\n", sum.await.map_err(failed)?))
}

/// Sends a request, and returns the answer.
fn ask(address: SocketAddr, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "{request} HTTP/1.1\r\nhost: bank\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn main() -> Result<(), Box<dyn Error>> {
    // Outside of tokio: dropping the runtime waits for its tasks.
    let rt = Runtime::builder().workers(2).build()?;
    let accounts = (0..100).map(|_| rt.plain(1000).pin(SpinLatch).build()).collect();
    let bank = Bank { rt: rt.handle(), accounts };
    let tokio = tokio::runtime::Runtime::new()?;
    let listener = tokio.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
    let address = listener.local_addr()?;
    let app = Router::new()
        .route("/transfer/{from}/{to}/{amount}", post(transfer))
        .route("/total", get(total))
        .with_state(bank);
    tokio.spawn(serve(listener, app).into_future());

    std::thread::scope(|scope| {
        for client in 0..4 {
            scope.spawn(move || {
                for number in 0..50 {
                    let request = format!("POST /transfer/{client}/{}/{}", 99 - number, 1 + number % 7);
                    let answer = ask(address, &request).expect("the service answers");
                    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                }
            });
        }
    });
    assert!(ask(address, "POST /transfer/1/2/5000")?.starts_with("HTTP/1.1 409"));
    assert!(ask(address, "POST /transfer/1/200/5")?.starts_with("HTTP/1.1 404"));
    assert!(ask(address, "GET /total")?.ends_with("\r\n100000\n"));
    println!("200 transfers have moved money, and none was lost");
    Ok(())
}
