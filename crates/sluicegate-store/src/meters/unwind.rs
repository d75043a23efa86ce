//! What must not be interrupted by a panic.

/// Ends the process when it is dropped, which happens only where a panic unwinds past it: usage that was
/// counted must not be forgotten, and a server that restarts has it on disk.
pub(crate) struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}
