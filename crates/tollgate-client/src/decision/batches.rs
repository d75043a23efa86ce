//! Joins checks that are asked for at the same time into one call. Each gets its own answer, or an error; never
//! another's.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::oneshot;

use super::answer::Decision;
use super::check::Check;
use super::client::Line;
use super::error::{CallError, Cause, Problem};
use super::wire;

/// Checks on their way into a batch.
pub(super) struct Batches {
    line: Line,
    max: usize,
    delay: Duration,
    open: Mutex<Open>,
}

/// The batch that is being filled.
#[derive(Default)]
struct Open {
    /// Which it is: whoever waits for the end of one leaves the next alone.
    number: u64,
    waiting: Vec<Waiting>,
}

/// Somebody who asked.
struct Waiting {
    check: Check,
    answer: oneshot::Sender<Result<Decision, CallError>>,
}

/// What became of the batch when a check was put into it.
enum Joined {
    /// It is the first: somebody has to send the batch with this number later.
    First(u64),
    /// It goes with those before it.
    Later,
    /// It was the last that fits.
    Full(Vec<Waiting>),
}

impl Batches {
    pub(super) fn new(line: Line, max: usize, delay: Duration) -> Self {
        Self { line, max, delay, open: Mutex::default() }
    }

    /// The same, sent in another way.
    pub(super) fn over(&self, line: Line) -> Self {
        Self::new(line, self.max, self.delay)
    }

    pub(super) async fn check(self: &Arc<Self>, check: Check) -> Result<Decision, CallError> {
        let (answer, answered) = oneshot::channel();
        let batches = Arc::clone(self);
        // Sent by a task of its own: who goes away must not take the answers of the others along.
        match self.join(Waiting { check, answer }) {
            Joined::First(number) => drop(tokio::spawn(async move {
                tokio::time::sleep(batches.delay).await;
                batches.send(batches.take(number)).await;
            })),
            Joined::Full(waiting) => drop(tokio::spawn(async move { batches.send(waiting).await })),
            Joined::Later => {}
        }
        answered.await.unwrap_or_else(|error| Err(CallError::Lost(Cause::new(error))))
    }

    fn join(&self, waiting: Waiting) -> Joined {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.waiting.push(waiting);
        match open.waiting.len() {
            count if count >= self.max => Joined::Full(open.close()),
            1 => Joined::First(open.number),
            _ => Joined::Later,
        }
    }

    /// The batch with this number; nothing if it was full before.
    fn take(&self, number: u64) -> Vec<Waiting> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.number == number { open.close() } else { Vec::new() }
    }

    async fn asked(&self, group: &[Waiting]) -> Result<Vec<Decision>, CallError> {
        let body = wire::batch(group.iter().map(|waiting| &waiting.check))?;
        self.line.check_batch(body, group.len()).await
    }

    async fn send(&self, waiting: Vec<Waiting>) {
        let mut groups = vec![waiting];
        while let Some(mut group) = groups.pop() {
            group.retain(|waiting| !waiting.answer.is_closed());
            if group.is_empty() {
                continue;
            }
            match self.asked(&group).await {
                Ok(decisions) => group.into_iter().zip(decisions).for_each(|(to, it)| to.tell(Ok(it))),
                Err(CallError::Refused(problem)) => groups.extend(without_the_wrong(group, problem)),
                Err(error) => group.into_iter().for_each(|waiting| waiting.tell(Err(error.clone()))),
            }
        }
    }
}

/// What to send once more, of a batch that was refused as a whole and not charged: who did nothing wrong is asked for
/// again.
fn without_the_wrong(mut group: Vec<Waiting>, problem: Problem) -> Vec<Vec<Waiting>> {
    if let Some((index, field)) = blamed(&problem).filter(|(index, _)| *index < group.len()) {
        let field = Some(field.to_owned());
        group.remove(index).tell(Err(CallError::Refused(Problem { field, ..problem })));
        return vec![group];
    }
    if problem.status == StatusCode::PAYLOAD_TOO_LARGE && group.len() > 1 {
        let second = group.split_off(group.len() / 2);
        return vec![second, group];
    }
    group.into_iter().for_each(|waiting| waiting.tell(Err(CallError::Refused(problem.clone()))));
    Vec::new()
}

/// Which check is wrong, and where: `checks[17].cost`.
fn blamed(problem: &Problem) -> Option<(usize, &str)> {
    if problem.status != StatusCode::BAD_REQUEST {
        return None;
    }
    let (index, rest) = problem.field.as_deref()?.strip_prefix("checks[")?.split_once(']')?;
    Some((index.parse().ok()?, rest.trim_start_matches('.')))
}

impl Open {
    fn close(&mut self) -> Vec<Waiting> {
        self.number += 1;
        std::mem::take(&mut self.waiting)
    }
}

impl Waiting {
    fn tell(self, answer: Result<Decision, CallError>) {
        // Who does not wait any more does not want it.
        let _ = self.answer.send(answer);
    }
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batches").field("max", &self.max).field("delay", &self.delay).finish_non_exhaustive()
    }
}
