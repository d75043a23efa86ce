//! The certificate that callers are shown, and its exchange for a newer one while the process runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use sluicegate_core::policy::TlsFiles;

/// The one set of algorithms that is used everywhere.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: LazyLock<Arc<CryptoProvider>> =
        LazyLock::new(|| Arc::new(rustls::crypto::aws_lc_rs::default_provider()));
    Arc::clone(&PROVIDER)
}

/// The certificate in use.
#[derive(Debug)]
pub struct TlsCell {
    files: TlsFiles,
    current: ArcSwap<ServerConfig>,
}

/// Why a certificate cannot be used.
#[derive(Debug)]
pub enum TlsError {
    /// A file cannot be read.
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// A file is not what it should be.
    BadPem {
        /// The file.
        file: PathBuf,
        /// What it should hold.
        wanted: &'static str,
        /// What is wrong with it.
        cause: pem::Error,
    },
    /// A file holds no certificate.
    NoCertificate {
        /// The file.
        file: PathBuf,
    },
    /// A file holds no certificate authorities that can be used.
    ClientCa {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// The two do not belong together, or are of a kind that is not supported.
    Mismatch {
        /// The files.
        files: Box<TlsFiles>,
        /// What is wrong with them.
        cause: rustls::Error,
    },
}

impl TlsCell {
    /// Reads the certificate and its key.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let current = ArcSwap::new(read(&files)?);
        Ok(Self { files, current })
    }

    /// Reads the files again. Connections from now on are shown what they hold; if they are wrong, nothing changes.
    pub fn reload(&self) -> Result<(), TlsError> {
        self.current.store(read(&self.files)?);
        Ok(())
    }

    /// What the next connection is shown.
    pub(crate) fn current(&self) -> Arc<ServerConfig> {
        self.current.load_full()
    }
}

fn read(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let text = |file: &PathBuf| {
        std::fs::read(file).map_err(|cause| TlsError::Unreadable { file: file.clone(), cause })
    };
    let chain = CertificateDer::pem_slice_iter(&text(&files.cert)?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|cause| TlsError::BadPem { file: files.cert.clone(), wanted: "certificates", cause })?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { file: files.cert.clone() });
    }
    let key = PrivateKeyDer::from_pem_slice(&text(&files.key)?).map_err(|cause| TlsError::BadPem {
        file: files.key.clone(),
        wanted: "a private key",
        cause,
    })?;
    let mismatch = |cause| TlsError::Mismatch { files: Box::new(files.clone()), cause };
    let builder = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(mismatch)?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(file) => builder.with_client_cert_verifier(client_verifier(file, &text(file)?)?),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(mismatch)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Callers have to show a certificate of one of these authorities.
fn client_verifier(file: &Path, pem: &[u8]) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let unusable =
        |cause: &dyn fmt::Display| TlsError::ClientCa { file: file.to_owned(), cause: cause.to_string() };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        roots.add(certificate.map_err(|cause| unusable(&cause))?).map_err(|cause| unusable(&cause))?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
    builder.build().map_err(|cause| unusable(&cause))
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { file, cause } => write!(f, "cannot read {}: {cause}", file.display()),
            Self::BadPem { file, wanted, cause } => {
                write!(f, "{} does not hold {wanted} in PEM form: {cause}", file.display())
            }
            Self::NoCertificate { file } => write!(f, "{} holds no certificate", file.display()),
            Self::ClientCa { file, cause } => {
                write!(f, "{} holds no certificate authorities for callers: {cause}", file.display())
            }
            Self::Mismatch { files, cause } => {
                let (cert, key) = (files.cert.display(), files.key.display());
                write!(f, "the certificate {cert} cannot be used with the key {key}: {cause}")
            }
        }
    }
}

impl std::error::Error for TlsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unreadable { cause, .. } => Some(cause),
            Self::BadPem { cause, .. } => Some(cause),
            Self::NoCertificate { .. } | Self::ClientCa { .. } => None,
            Self::Mismatch { cause, .. } => Some(cause),
        }
    }
}
