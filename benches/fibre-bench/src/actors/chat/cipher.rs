//! What messages between users and their sessions are encrypted with: ChaCha20.
//!
//! It is there for its cost. Keys are made of the users' numbers, and nothing is authenticated.

use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit as _, StreamCipher as _};

/// A user's key.
pub(super) struct Key([u8; 32]);

impl Key {
    /// The key of the user of this number.
    pub(super) fn of(user: u32) -> Self {
        let mut key = [0x5a; 32];
        key[..4].copy_from_slice(&user.to_le_bytes());
        Self(key)
    }

    /// Encrypts the message of this number in place, or decrypts it.
    pub(super) fn apply(&self, number: u64, text: &mut [u8]) {
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&number.to_le_bytes());
        ChaCha20::new(&self.0.into(), &nonce.into()).apply_keystream(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_is_as_before_and_once_is_not() {
        let key = Key::of(7);
        let mut text = *b"good morning";
        key.apply(3, &mut text);
        assert_ne!(&text, b"good morning");
        key.apply(3, &mut text);
        assert_eq!(&text, b"good morning");
    }
}
