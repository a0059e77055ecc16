//! What the handle of a task has: the fibre, or the request that will become one.

use crate::errors::TaskError;
use crate::request::Pending;
use std::io;
use std::sync::Arc;

/// How far a task was when its handle was made. `H` is the right to its fibre's result.
pub(crate) enum Stage<'s, H> {
    /// It had its permissions.
    Started(H),
    /// It was waiting.
    Waiting(Arc<dyn Pending<H> + 's>),
    /// It never runs.
    Refused(io::Error),
}

impl<H> Stage<'_, H> {
    /// Waits until the task has started, or never will. Blocks the fibre, or the thread if the
    /// caller is not a fibre.
    pub(crate) fn started(self) -> Result<H, TaskError> {
        match self {
            Self::Started(handle) => Ok(handle),
            Self::Refused(error) => Err(TaskError::Refused(error)),
            Self::Waiting(request) => {
                request.slot().settled.wait();
                request.slot().take().unwrap_or(Err(TaskError::Cancelled))
            }
        }
    }

    /// Cancels the task: by `cancel` if it has had its permissions at once.
    pub(crate) fn cancel(&self, cancel: impl FnOnce(&H)) {
        match self {
            Self::Started(handle) => cancel(handle),
            Self::Waiting(request) => Arc::clone(request).cancel(),
            Self::Refused(_) => {}
        }
    }
}
