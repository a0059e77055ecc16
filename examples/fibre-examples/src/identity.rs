//! The identity of a TLS server: a certificate and its key, read from files or made up.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// Where the certificate and its key come from.
#[derive(Args, Debug, Default)]
pub struct Identity {
    /// The certificate and those that vouch for it, in PEM [default: one for localhost, made up]
    #[arg(long, requires = "key")]
    cert: Option<PathBuf>,

    /// The certificate's private key, in PEM
    #[arg(long, requires = "cert")]
    key: Option<PathBuf>,

    /// Write the made-up certificate to this file, for clients to trust
    #[arg(long, conflicts_with = "cert")]
    write_cert: Option<PathBuf>,
}

impl Identity {
    /// What rustls needs for a server of this identity that speaks HTTP/1.1. Blocks the thread:
    /// it reads files.
    ///
    /// # Errors
    ///
    /// If files cannot be read or written, or what they hold does not fit together.
    pub fn server_config(&self) -> io::Result<Arc<ServerConfig>> {
        let (chain, key) = match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => (
                CertificateDer::pem_file_iter(cert)
                    .and_then(Iterator::collect)
                    .map_err(io::Error::other)?,
                PrivateKeyDer::from_pem_file(key).map_err(io::Error::other)?,
            ),
            _ => self.make_up()?,
        };
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// A certificate for this machine that vouches for itself.
    fn make_up(&self) -> io::Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
        if let Some(path) = &self.write_cert {
            fs::write(path, made.cert.pem())?;
        }
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        Ok((vec![made.cert.der().clone()], key.into()))
    }
}
