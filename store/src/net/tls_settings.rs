//! The settings of TLS, and the files that they name.

use crate::server::{Setting, Settings};
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads the files of the settings.
///
/// # Errors
///
/// If a setting is missing, a file is not there or wrong, or they do not fit each other.
pub(super) fn load(settings: &Settings) -> Result<Arc<ServerConfig>, String> {
    let certificate = file(settings, Setting::TlsCertFile).ok_or("tls-cert-file is not set")?;
    let key = file(settings, Setting::TlsKeyFile).ok_or("tls-key-file is not set")?;
    let certificates = certificates(&certificate)?;
    let key_of = |path: &Path| PrivateKeyDer::from_pem_file(path).map_err(|error| wrong(path, &error));
    let key = key_of(&key)?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let builder = match verifier(settings)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let config = builder.with_single_cert(certificates, key);
    config.map(Arc::new).map_err(|error| format!("tls-cert-file and tls-key-file: {error}"))
}

/// Returns what checks the certificates of clients, if they have to have one or may.
fn verifier(settings: &Settings) -> Result<Option<Arc<dyn ClientCertVerifier>>, String> {
    let asked = settings.shown(Setting::TlsAuthClients as usize);
    if asked == "no" {
        return Ok(None);
    }
    let path = file(settings, Setting::TlsCaCertFile)
        .ok_or_else(|| format!("tls-auth-clients is {asked}, and tls-ca-cert-file is not set"))?;
    let mut authorities = RootCertStore::empty();
    for certificate in certificates(&path)? {
        authorities.add(certificate).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let provider = Arc::new(ring::default_provider());
    let mut builder = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider);
    if asked == "optional" {
        builder = builder.allow_unauthenticated();
    }
    builder.build().map(Some).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the file that a setting names, in the directory of the setting `dir`.
fn file(settings: &Settings, setting: Setting) -> Option<PathBuf> {
    let name = settings.text(setting);
    (!name.is_empty()).then(|| Path::new(&settings.text(Setting::Dir)).join(name))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match all {
        Ok(all) if all.is_empty() => Err(format!("{} has no certificate", path.display())),
        all => all.map_err(|error| wrong(path, &error)),
    }
}

fn wrong(path: &Path, error: &pem::Error) -> String {
    format!("{}: {error}", path.display())
}
