//! Keys and values.

use crate::Subject;
use crate::actors::{ACTORS, Crew};
use crate::random::Random;
use fibre_capi::key::*;
use libc::EINVAL;
use std::ptr;

/// A key that has been made.
struct Key {
    number: fibre_key_t,
    /// Each actor's value.
    values: [usize; ACTORS],
}

/// Keys that are there, and numbers of some that are not.
pub struct Keys {
    there: Vec<Key>,
    gone: Vec<fibre_key_t>,
}

impl Keys {
    /// A list without keys.
    pub fn new() -> Self {
        Self {
            there: Vec::new(),
            gone: Vec::new(),
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        for key in &self.there {
            assert_eq!(fibre_key_delete(key.number), 0);
        }
    }
}

impl Subject for Keys {
    fn call(&mut self, crew: &Crew, actor: usize, random: &mut Random) {
        if self.there.len() < 4 && random.one_in(4) {
            let mut number = 0;
            // SAFETY: a place of ours.
            assert_eq!(unsafe { fibre_key_create(&raw mut number, None) }, 0);
            assert!(self.there.iter().all(|key| key.number != number));
            self.gone.retain(|&gone| gone != number);
            self.there.push(Key {
                number,
                values: [0; ACTORS],
            });
        }
        if let Some(&gone) = self.gone.last() {
            let returned = crew.on(actor, move || {
                let value = ptr::without_provenance(1);
                (
                    fibre_setspecific(gone, value),
                    fibre_getspecific(gone).addr(),
                )
            });
            assert_eq!(returned, (EINVAL, 0));
            assert_eq!(fibre_key_delete(gone), EINVAL);
        }
        if self.there.is_empty() {
            return;
        }
        let index = random.below(self.there.len());
        let key = &mut self.there[index];
        let (number, value) = (key.number, random.below(1000));
        let (before, set) = crew.on(actor, move || {
            let before = fibre_getspecific(number).addr();
            (
                before,
                fibre_setspecific(number, ptr::without_provenance(value)),
            )
        });
        assert_eq!((before, set), (key.values[actor], 0));
        key.values[actor] = value;
        if random.one_in(8) {
            assert_eq!(fibre_key_delete(number), 0);
            self.there.swap_remove(index);
            self.gone.push(number);
        }
    }
}
