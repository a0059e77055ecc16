//! Bytes on their way to a client: shared ones, or its own.

use std::ops::Deref;
use std::sync::Arc;

/// Bytes on their way to a client.
#[derive(Debug, Clone)]
pub(crate) enum Bytes {
    /// Bytes that other clients may get, too.
    Shared(Arc<[u8]>),
    /// Bytes for this client only.
    Own(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Own(bytes) => bytes,
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Own(bytes)
    }
}

impl From<&Arc<[u8]>> for Bytes {
    fn from(bytes: &Arc<[u8]>) -> Self {
        Self::Shared(Arc::clone(bytes))
    }
}
