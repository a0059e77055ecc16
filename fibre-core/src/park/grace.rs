//! Cancellation with grace: stretches that may go on until a limit.
//!
//! [`CancelToken::cancel_within`] cancels the fibres that are outside of a stretch at once, and
//! those within one at its end, or when the limit comes. `fibre/cancel_group.rs` has the protocol.
//! A stretch that has begun before its token is cancelled is spared, and a later one does not
//! begin: the two agree under the lock of the token's group.

use crate::fibre::cancel_group::{CancelGroup, Part, Stretching};
use crate::fibre::{ControlBlock, FibreRef};
use crate::park::cancel::{CancelToken, notices};
use crate::park::yield_now;
use crate::processor::{running, with_running};
use crate::wait::cancelled::Cancelled;
use std::sync::Arc;
use std::time::Instant;

/// Calls `f` as a stretch of work that a [`cancel_within`](CancelToken::cancel_within) of the
/// calling fibre's token spares until its limit: a request that is being answered, say. When the
/// limit comes, the fibre is cancelled as ever, also within `f`. When `f` has returned, a fibre
/// that was spared is cancelled. Blocks what `f` blocks.
///
/// A stretch begins, or the fibre has been cancelled before: then `f` is dropped, and so nothing is
/// half done. A stretch within a stretch is a part of it. Other cancellation
/// ([`cancel`](CancelToken::cancel), [`JoinHandle::cancel`](crate::JoinHandle::cancel), the stop of
/// a cluster) spares nobody. Fibres of a group that begins in a stretch, without a token that is
/// named, are spared with it, and those that are spawned otherwise have no token of their own
/// accord. In a [`shield`](crate::shield()), on a plain thread, and in a fibre without a token,
/// just calls `f`.
///
/// ```
/// use fibre::{Builder, CancelToken, channel::bounded};
/// use std::time::Duration;
///
/// let service = CancelToken::new();
/// let (requests, from_client) = bounded::<u32>(1);
/// let (begun, has_begun) = bounded(1);
/// let server = Builder::new().cancel_token(&service).spawn(move || {
///     let mut served = 0;
///     while let Ok(request) = from_client.recv_within(fibre::Limit::Cancellation) {
///         let answered = fibre::graceful(|| {
///             begun.send(()).unwrap();
///             // Waits in a call that notices cancellation, and is spared.
///             fibre::sleep_within(Duration::from_millis(request.into()))
///         });
///         served += u32::from(answered == Ok(Ok(())));
///     }
///     served
/// })?;
/// requests.send(5).unwrap();
/// has_begun.recv().unwrap();
/// service.cancel_within(Duration::from_secs(60))?; // once it is answering
/// assert_eq!(server.join().unwrap(), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// [`Cancelled`], if the fibre has been cancelled before. `f` has not been called.
///
/// # Panics
///
/// With the panic of `f`.
pub fn graceful<T>(f: impl FnOnce() -> T) -> Result<T, Cancelled> {
    // A loop that ignores its errors blocks nobody.
    let stretch = Stretch::begin().inspect_err(|_| yield_now())?;
    let result = f();
    drop(stretch);
    Ok(result)
}

/// Whether the token of the calling fibre has been cancelled, also if the fibre is in a stretch
/// that is [spared](graceful), or in a shield: what it has begun should come to its end.
/// [`CancelToken::limit`] has how long that may take.
///
/// ```
/// let token = fibre::CancelToken::new();
/// token.cancel();
/// let fibre = fibre::Builder::new().cancel_token(&token).spawn(fibre::is_ending)?;
/// assert!(fibre.join().unwrap());
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn is_ending() -> bool {
    let is_cancelled = |fibre: &ControlBlock| {
        let group = fibre.attributes.group();
        fibre.state.is_cancelled() || group.is_some_and(|group| group.is_ending())
    };
    with_running(is_cancelled) == Some(true)
}

/// While it lives, its fibre is in a stretch.
struct Stretch {
    /// The group of the fibre.
    group: Arc<CancelGroup<ControlBlock>>,
    /// The fibre.
    fibre: FibreRef,
}

impl Stretch {
    /// Begins one. `None`: nothing is to end.
    fn begin() -> Result<Option<Self>, Cancelled> {
        let Some(fibre) = running() else {
            return Ok(None);
        };
        // SAFETY: the calling fibre.
        let block = unsafe { fibre.as_ref() };
        if notices(block) {
            return Err(Cancelled);
        }
        let Some(group) = block.attributes.group() else {
            return Ok(None);
        };
        match group.begin_stretch(fibre) {
            Stretching::Begun => Ok(Some(Self {
                group: Arc::clone(group),
                fibre,
            })),
            Stretching::Within => Ok(None),
            Stretching::Refused if block.shields.get() > 0 => Ok(None),
            // Its canceller may be about to say so.
            Stretching::Refused => Err(Cancelled),
        }
    }
}

impl Drop for Stretch {
    fn drop(&mut self) {
        if self.group.end_stretch(self.fibre) {
            // SAFETY: the calling fibre, which runs.
            unsafe { ControlBlock::cancel(self.fibre) };
            self.group.note_stretch_end();
        }
    }
}

/// A child of the calling fibre's token, if it has one; in a [stretch](graceful) of the fibre, one
/// that is spared with it.
#[must_use]
pub fn child_of_caller() -> Option<CancelToken> {
    let fibre = running()?;
    // SAFETY: the calling fibre.
    let group = unsafe { fibre.as_ref() }.attributes.group()?;
    let part = match group.is_in_stretch(fibre) {
        true => Part::Stretched,
        false => Part::Usual,
    };
    let child = CancelGroup::new_part(Some(Arc::clone(group)), part);
    Some(CancelToken::of_group(child))
}

impl CancelToken {
    /// Until when a [`cancel_within`](Self::cancel_within) of this token, or of one that it is a
    /// child of, spares stretches: the earliest moment, if there is one.
    #[must_use]
    pub fn limit(&self) -> Option<Instant> {
        self.as_group().limit()
    }
}
