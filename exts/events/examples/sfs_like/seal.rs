//! Frames that only those who have the secret can read or make.
//!
//! A frame is a length of four bytes, the most significant first, and so many sealed bytes; the
//! last sixteen are their authenticator. Both sides begin with eight bytes of their own choice, the
//! *salts*. A frame's nonce is both salts, its number in its direction, and the direction: so none
//! comes twice under a secret, and frames of one connection mean nothing on another one, or in
//! another place.

use chacha20poly1305::aead::Generate;
use chacha20poly1305::{AeadInOut, KeyInit, Tag, XChaCha20Poly1305, XNonce};
use std::io;

/// What both sides know.
pub(crate) type Secret = [u8; 32];

/// What a side chooses for a connection.
pub(crate) type Salt = [u8; 8];

/// Bytes of a frame's length.
pub(crate) const LENGTH: usize = 4;

/// Bytes of an authenticator.
pub(crate) const TAG: usize = 16;

/// The most bytes that a frame may have after its length.
pub(crate) const LONGEST: usize = 32 * 1024 + 64;

/// A frame that nobody with the secret has sent here, now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Forged;

/// The side that sends a frame: the upper bit of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client = 0,
    Server = 1,
}

/// One side of a connection.
pub(crate) struct Channel {
    cipher: XChaCha20Poly1305,
    side: Side,
    /// The client's salt, then the server's.
    salts: [Salt; 2],
    /// How many frames have been sealed, and opened.
    sealed: u64,
    opened: u64,
}

/// A salt that nobody foresees.
pub(crate) fn salt() -> io::Result<Salt> {
    let random = XNonce::try_generate().map_err(io::Error::other)?;
    let mut salt = Salt::default();
    salt.copy_from_slice(&random[..size_of::<Salt>()]);
    Ok(salt)
}

impl Channel {
    /// This side of a connection with the client's salt and the server's.
    pub(crate) fn new(secret: &Secret, side: Side, salts: [Salt; 2]) -> Self {
        Self {
            cipher: XChaCha20Poly1305::new(secret.into()),
            side,
            salts,
            sealed: 0,
            opened: 0,
        }
    }

    /// The nonce of a frame.
    fn nonce(&self, from: Side, number: u64) -> XNonce {
        let mut nonce = XNonce::default();
        nonce[..8].copy_from_slice(&self.salts[0]);
        nonce[8..16].copy_from_slice(&self.salts[1]);
        let number = number | (from as u64) << 63;
        nonce[16..].copy_from_slice(&number.to_be_bytes());
        nonce
    }

    /// Seals what follows the room for the length, and fills that in.
    pub(crate) fn seal(&mut self, frame: &mut Vec<u8>) {
        let length = u32::try_from(frame.len() - LENGTH + TAG).unwrap_or(u32::MAX);
        let nonce = self.nonce(self.side, self.sealed);
        self.sealed += 1;
        let (head, body) = frame.split_at_mut(LENGTH);
        head.copy_from_slice(&length.to_be_bytes());
        let tag = self
            .cipher
            .encrypt_inout_detached(&nonce, head, body.into());
        // It fails for bodies of 256 GiB only.
        frame.extend_from_slice(&tag.unwrap_or_default());
    }

    /// Opens the next frame of the other side, in place; returns what was sealed.
    pub(crate) fn open<'a>(&mut self, frame: &'a mut [u8]) -> Result<&'a [u8], Forged> {
        let opened = self.open_at(self.opened, frame)?;
        self.opened += 1;
        Ok(opened)
    }

    /// Opens the other side's frame of this number.
    pub(crate) fn open_at<'a>(&self, number: u64, frame: &'a mut [u8]) -> Result<&'a [u8], Forged> {
        let from = match self.side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        let nonce = self.nonce(from, number);
        let (head, sealed) = frame.split_at_mut_checked(LENGTH).ok_or(Forged)?;
        let end = sealed.len().checked_sub(TAG).ok_or(Forged)?;
        let (body, tag) = sealed.split_at_mut(end);
        let tag = Tag::try_from(&*tag).map_err(|_| Forged)?;
        let opened = self
            .cipher
            .decrypt_inout_detached(&nonce, head, (&mut *body).into(), &tag);
        opened.map_err(|_| Forged)?;
        Ok(body)
    }
}

/// How long the frame at the front of `bytes` is, its length included; `None` if that has not
/// arrived.
///
/// # Errors
///
/// If no frame is that long, or that short.
pub(crate) fn frame_length(bytes: &[u8]) -> Result<Option<usize>, Forged> {
    let Some(length) = bytes.first_chunk() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length) as usize;
    if !(TAG..=LONGEST).contains(&length) {
        return Err(Forged);
    }
    Ok(Some(LENGTH + length))
}
