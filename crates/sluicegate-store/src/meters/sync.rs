//! The atomics that a cell is made of: those of the standard library, or those of the model checker.

#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    thread::yield_now,
};

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    thread::yield_now,
};

/// Shared memory whose exclusive use the cell's lock guarantees.
#[cfg(not(loom))]
#[derive(Debug, Default)]
pub(crate) struct Guarded<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> Guarded<T> {
    /// Calls `f` with a pointer to the value. Whoever uses the pointer holds the lock.
    #[inline]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

#[cfg(loom)]
#[derive(Debug, Default)]
pub(crate) struct Guarded<T>(loom::cell::UnsafeCell<T>);

#[cfg(loom)]
impl<T> Guarded<T> {
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        self.0.with_mut(f)
    }
}
