//! How far the end has come, for a task that looks with every step it makes.
//!
//! Being woken costs one registration for each phase, and not one for each step.

use std::pin::Pin;
use std::task::Context;

use sluicegate_node::shutdown::{Phase, Shutdown};

/// Wakes one task when the end comes further.
pub(crate) struct Ending {
    shutdown: Shutdown,
    /// The phase in which the task was last registered, and what wakes it out of it.
    registered: Option<(Phase, Reached)>,
}

/// Over once a phase is reached.
type Reached = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Ending {
    /// The end of this listener.
    pub(crate) fn of(shutdown: &Shutdown) -> Self {
        Self { shutdown: shutdown.clone(), registered: None }
    }

    /// How far it has come. The task that asks, which must always be the same, is woken when it comes further.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Phase {
        loop {
            let phase = self.shutdown.phase();
            let next = match phase {
                Phase::Serving => Phase::Draining,
                Phase::Draining => Phase::Cut,
                Phase::Cut => return phase,
            };
            if self.registered.as_ref().is_some_and(|(registered, _)| *registered == phase) {
                return phase;
            }
            let shutdown = self.shutdown.clone();
            let mut reached: Reached = Box::pin(async move { shutdown.reached(next).await });
            // Registers whom to wake. It may have come further meanwhile: so look once more.
            let _ = reached.as_mut().poll(cx);
            self.registered = Some((phase, reached));
        }
    }
}
