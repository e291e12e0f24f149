//! TLS: requests and replies of any length, certificates of clients, and wrong files.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use xtasking::Runtime;
use xtasking_store::Engine;
use xtasking_store::engine::Builder;
use xtasking_store::net::{ServeError, Service};
use xtasking_testing::{eventually, watchdog};

/// Certificates in a folder, which is removed at the end.
struct Files {
    folder: PathBuf,
    authority: CertificateDer<'static>,
    /// A certificate of a client and its key.
    client: (CertificateDer<'static>, Vec<u8>),
}

impl Files {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("xtasking-store-tls-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let made = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new([name.to_owned()]).unwrap();
            (params.signed_by(&key, &authority).unwrap(), key)
        };
        let ((server, key), (client, client_key)) = (made("store"), made("client"));
        for (name, text) in
            [("server.crt", server.pem()), ("server.key", key.serialize_pem()), ("ca.crt", authority.pem())]
        {
            fs::write(folder.join(name), text).unwrap();
        }
        let client = (client.der().clone(), client_key.serialize_der());
        Self { folder, authority: authority.der().clone(), client }
    }

    fn start(&self, rt: &Runtime, settings: &[(&str, &str)]) -> Result<(Service, SocketAddr), ServeError> {
        self.start_with(Engine::builder(), rt, settings)
    }

    fn start_with(
        &self,
        builder: Builder,
        rt: &Runtime,
        settings: &[(&str, &str)],
    ) -> Result<(Service, SocketAddr), ServeError> {
        let builder = builder.shards(16).setting("dir", self.folder.to_str().unwrap());
        let builder = builder.setting("tls-cert-file", "server.crt").setting("tls-key-file", "server.key");
        let set = |builder: Builder, (name, value): &(&str, &str)| builder.setting(*name, *value);
        let mut service = Service::start(settings.iter().fold(builder, set), rt);
        let address = service.listen_tls("127.0.0.1:0")?[0];
        Ok((service, address))
    }

    fn connect(
        &self,
        address: SocketAddr,
        has_certificate: bool,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let mut authorities = RootCertStore::empty();
        authorities.add(self.authority.clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder =
            builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(authorities);
        let config = if has_certificate {
            let key = PrivateKeyDer::Pkcs8(self.client.1.clone().into());
            builder.with_client_auth_cert(vec![self.client.0.clone()], key).unwrap()
        } else {
            builder.with_no_client_auth()
        };
        let name = ServerName::try_from("store").unwrap();
        let tls = ClientConnection::new(Arc::new(config), name).unwrap();
        StreamOwned::new(tls, TcpStream::connect(address).unwrap())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // Nothing else is there.
        _ = fs::remove_dir_all(&self.folder);
    }
}

const NO_CERTIFICATES: (&str, &str) = ("tls-auth-clients", "no");

#[test]
fn long_and_short_replies_pass() {
    let _watched = watchdog();
    let files = Files::new("replies");
    let rt = Runtime::builder().workers(2).build().unwrap();
    let (service, address) = files.start(&rt, &[NO_CERTIFICATES]).unwrap();
    let mut client = files.connect(address, false);
    let value = "x".repeat(3 << 20);
    let set = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n", value.len());
    client.write_all(set.as_bytes()).unwrap();
    let mut ok = [0; 5];
    client.read_exact(&mut ok).unwrap();
    assert_eq!(&ok, b"+OK\r\n");
    // The client reads only once it has sent all: replies wait, and nothing is lost.
    client.write_all("GET k\r\nPING\r\n".repeat(8).as_bytes()).unwrap();
    let reply = format!("${}\r\n{value}\r\n+PONG\r\n", value.len());
    let mut got = vec![0; reply.len()];
    for _ in 0..8 {
        client.read_exact(&mut got).unwrap();
        assert!(got == reply.as_bytes());
    }
    client.write_all(b"QUIT\r\n").unwrap();
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"+OK\r\n", "then the connection is closed as TLS asks for");
    eventually("the client is gone", || service.engine().server().clients.is_empty());
}

#[test]
fn clients_that_send_in_pieces_and_at_once_are_served() {
    let _watched = watchdog();
    let files = Files::new("pieces");
    let rt = Runtime::builder().workers(3).build().unwrap();
    let (_service, address) = files.start(&rt, &[NO_CERTIFICATES]).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = files.connect(address, false);
                for _ in 0..50 {
                    for piece in [&b"INCR n\r\nEC"[..], b"HO abc\r", b"\n"] {
                        client.write_all(piece).unwrap();
                        client.flush().unwrap();
                    }
                    let mut reply = Vec::new();
                    let mut byte = [0];
                    while !reply.ends_with(b"$3\r\nabc\r\n") {
                        client.read_exact(&mut byte).unwrap();
                        reply.push(byte[0]);
                    }
                }
            });
        }
    });
    let mut client = files.connect(address, false);
    client.write_all(b"GET n\r\n").unwrap();
    let mut reply = [0; 9];
    client.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"$3\r\n200\r\n");
}

#[test]
fn certificates_of_clients_are_asked_for() {
    let _watched = watchdog();
    let files = Files::new("clients");
    let rt = Runtime::builder().workers(1).build().unwrap();
    for (asked, takes_others) in [("yes", false), ("optional", true), ("no", true)] {
        let settings = [("tls-auth-clients", asked), ("tls-ca-cert-file", "ca.crt")];
        let (_service, address) = files.start(&rt, &settings).unwrap();
        for has_certificate in [true, false] {
            let mut client = files.connect(address, has_certificate);
            let mut reply = [0; 7];
            let outcome = client.write_all(b"PING\r\n").and_then(|()| client.read_exact(&mut reply));
            assert_eq!(outcome.is_ok(), has_certificate || takes_others, "{asked}: {outcome:?}");
            assert!(outcome.is_err() || &reply == b"+PONG\r\n");
        }
    }
}

#[test]
fn what_is_no_tls_is_closed() {
    let _watched = watchdog();
    let files = Files::new("plain");
    let rt = Runtime::builder().workers(1).build().unwrap();
    let (service, address) = files.start(&rt, &[NO_CERTIFICATES]).unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"PING\r\nPING\r\n").unwrap();
    let mut rest = Vec::new();
    // An alert at most; what was not read may reset the connection.
    _ = client.read_to_end(&mut rest);
    assert!(!rest.starts_with(b"+PONG"), "{rest:?}");
    eventually("the client is gone", || service.engine().server().clients.is_empty());
}

/// What a read receives at most is less than what has come: it goes on without another event.
#[test]
fn records_with_little_in_them_are_read_to_the_end() {
    let _watched = watchdog();
    let files = Files::new("records");
    let rt = Runtime::builder().workers(1).build().unwrap();
    let (_service, address) = files.start(&rt, &[NO_CERTIFICATES]).unwrap();
    let mut client = files.connect(address, false);
    // The timers of the store keep the watchdog from seeing soon that nothing comes.
    client.sock.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut reply = [0; 7];
    client.write_all(b"PING\r\n").unwrap();
    client.read_exact(&mut reply).unwrap();
    // Less than the window of the connection, and more than one read takes.
    let value = "x".repeat(1_700);
    let mut records = Vec::new();
    for byte in format!("*2\r\n$4\r\nECHO\r\n${}\r\n{value}\r\n", value.len()).bytes() {
        client.conn.writer().write_all(&[byte]).unwrap();
        client.conn.write_tls(&mut records).unwrap();
    }
    // All has come before anything is read.
    let (began, begin) = mpsc::channel();
    let (sent, wait) = mpsc::channel();
    rt.task(()).spawn(move |(), _| {
        began.send(()).unwrap();
        wait.recv().unwrap();
    });
    begin.recv().unwrap();
    client.sock.write_all(&records).unwrap();
    sent.send(()).unwrap();
    let expected = format!("${}\r\n{value}\r\n", value.len());
    let mut echoed = vec![0; expected.len()];
    client.read_exact(&mut echoed).unwrap();
    assert_eq!(echoed, expected.as_bytes());
}

#[test]
fn handshakes_that_do_not_end_are_closed() {
    let _watched = watchdog();
    let files = Files::new("handshake");
    let rt = Runtime::builder().workers(1).build().unwrap();
    let now = Arc::new(AtomicU64::new(1_000_000));
    let time = now.clone();
    let builder = Engine::builder().clock(move || time.load(Ordering::Relaxed));
    let (service, address) = files.start_with(builder, &rt, &[NO_CERTIFICATES]).unwrap();
    let mut silent = TcpStream::connect(address).unwrap();
    let mut client = files.connect(address, false);
    let mut ping = || {
        let mut reply = [0; 7];
        client.write_all(b"PING\r\n").unwrap();
        client.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"+PONG\r\n");
    };
    ping();
    eventually("both are accepted", || service.engine().server().clients.len() == 2);
    now.fetch_add(10_001, Ordering::Relaxed);
    // An alert at most comes before the end.
    silent.read_to_end(&mut Vec::new()).unwrap();
    ping();
}

#[test]
fn wrong_files_are_named() {
    let files = Files::new("wrong");
    let rt = Runtime::builder().workers(1).build().unwrap();
    for (settings, why) in [
        (vec![], "tls-auth-clients is yes, and tls-ca-cert-file is not set"),
        (vec![("tls-cert-file", "none.crt")], "none.crt"),
        (vec![("tls-cert-file", "server.key")], "server.key has no certificate"),
        (vec![("tls-key-file", "ca.crt")], "ca.crt"),
        (vec![("tls-key-file", "")], "tls-key-file is not set"),
        (vec![("tls-cert-file", "ca.crt"), NO_CERTIFICATES], "tls-cert-file and tls-key-file"),
    ] {
        match files.start(&rt, &settings) {
            Err(ServeError::Tls(error)) => assert!(error.contains(why), "{settings:?}: {error}"),
            Err(error) => panic!("{settings:?}: {error}"),
            Ok(_) => panic!("{settings:?}: it listens"),
        }
    }
}
