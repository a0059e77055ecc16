//! What a kernel thread has that a fibre may have of its own: the floating-point environment, which
//! is in two registers of the CPU, and the locale.

use crate::arch;
use std::ptr;
use std::sync::OnceLock;

/// The bits of MXCSR that say what has happened.
const RAISED: u32 = 0x3f;

/// The environment that all begin with: the one of the first creator.
static BASE: OnceLock<Registers> = OnceLock::new();

/// The state of the x87 in memory, without its registers, of which none is in use in a call.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Registers {
    /// The words that `fnstenv` writes.
    x87: [u32; 7],
    /// MXCSR.
    mxcsr: u32,
}

impl Registers {
    /// Reads those of this thread.
    pub fn read() -> Self {
        let mut own = Self {
            x87: [0; 7],
            mxcsr: 0,
        };
        // SAFETY: they are this frame's.
        unsafe { arch::store_float(&raw mut own.x87, &raw mut own.mxcsr) };
        own
    }

    /// Writes them.
    pub fn write(&self) {
        // SAFETY: they have been read by `read`, and C programs ask for it. No code of ours
        // computes with them: it runs while a fibre's are put away.
        unsafe { arch::load_float(&raw const self.x87, &raw const self.mxcsr) };
    }

    /// What says how to compute, without what has happened.
    pub fn control(&self) -> [u32; 2] {
        [self.x87[0] & 0xffff, self.mxcsr & !RAISED]
    }
}

/// That of this thread, for less than it takes to read all.
pub fn control_here() -> [u32; 2] {
    let (word, mxcsr) = arch::float_control();
    [word.into(), mxcsr & !RAISED]
}

/// The environment that all begin with.
pub fn base() -> &'static Registers {
    BASE.get_or_init(Registers::read)
}

/// What the thread does not have at the moment: the fibre's, or the one that it had before.
#[derive(Debug)]
pub struct Locale(libc::locale_t);

impl Locale {
    /// That of this thread, before the calling fibre sets its own.
    pub fn of_thread() -> Self {
        // SAFETY: only asks.
        Self(unsafe { libc::uselocale(ptr::null_mut()) })
    }

    /// Gives the thread this one, and keeps the one that it had.
    pub fn exchange(&mut self) {
        // SAFETY: the program has set it, and does not free it before it sets another one.
        self.0 = unsafe { libc::uselocale(self.0) };
    }
}

/// What a fibre has of its own.
#[derive(Debug, Default)]
pub struct Environment {
    /// How it computes, while that is put away; `None`: as all do.
    pub registers: Option<Registers>,
    /// Its locale; `None`: the one that all have.
    pub locale: Option<Locale>,
    /// In how many calls the fibre is that have put it away.
    pub calls: u32,
}

impl Environment {
    /// Leaves the thread what all begin with. The caller is the fibre.
    pub fn put_away(&mut self) {
        if let Some(registers) = &mut self.registers {
            *registers = Registers::read();
            base().write();
        }
        if let Some(locale) = &mut self.locale {
            locale.exchange();
        }
    }

    /// Gives the thread what the fibre has. The caller is the fibre.
    pub fn take_back(&mut self) {
        if let Some(registers) = &self.registers {
            registers.write();
        }
        if let Some(locale) = &mut self.locale {
            locale.exchange();
        }
    }
}
