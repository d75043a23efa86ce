//! The only place that reads a clock: what the contestants are told, and how long they take.

use crate::contestant::Contestant;
use crate::workload::Calls;
use anyhow::{Result, ensure};
use core_affinity::CoreId;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// One in this many decisions of a lap is a warm-up, untimed: a lap finds the caches as the contestant before
/// it left them, and its threads are new to the allocator.
const WARM_UP_PART: usize = 10;

/// How long a thread waits for the others of its lap, in laps.
const EXTRA_LAPS_MAX: usize = 10;

/// The clock that contestants are told the time from.
///
/// It is read for each decision inside the timed loop, as governor reads it inside its check: a limiter that
/// takes the time as an argument is not spared the cost of knowing it.
#[derive(Clone)]
pub(crate) struct Clock(quanta::Clock);

impl Clock {
    pub(crate) fn new() -> Self {
        Self(quanta::Clock::new())
    }
}

/// A form in which a contestant is told the time.
pub(crate) trait Now: Copy {
    fn read(clock: &Clock) -> Self;
}

/// The contestant reads a clock itself.
impl Now for () {
    #[inline]
    fn read(_clock: &Clock) {}
}

/// Nanoseconds since an arbitrary start.
impl Now for u64 {
    #[inline]
    fn read(clock: &Clock) -> Self {
        clock.0.delta_as_nanos(0, clock.0.raw())
    }
}

impl Now for SystemTime {
    #[inline]
    #[expect(clippy::disallowed_methods, reason = "this is where a benchmark reads the time")]
    fn read(_clock: &Clock) -> Self {
        Self::now()
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where a benchmark reads the time")]
fn instant() -> Instant {
    Instant::now()
}

/// What `work` returned, and how long it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = instant();
    let done = work();
    (done, instant() - start)
}

/// Measures from when it is made.
pub(crate) struct Stopwatch(Instant);

/// A stopwatch that runs.
pub(crate) fn stopwatch() -> Stopwatch {
    Stopwatch(instant())
}

impl Stopwatch {
    pub(crate) fn elapsed(&self) -> Duration {
        instant() - self.0
    }
}

/// Lets another process go on.
#[expect(clippy::disallowed_methods, reason = "what is waited for is outside of this process")]
pub(crate) fn pause(time: Duration) {
    thread::sleep(time);
}

/// A contestant whose type is known only to the laps it runs.
pub(crate) trait Racer {
    /// Nanoseconds per decision and thread, with one thread for each list of calls.
    fn lap(&self, clock: &Clock, calls: &[Calls]) -> Result<f64>;
}

/// Medians of one racer.
pub(crate) struct Times {
    /// Nanoseconds per decision of one thread on its own.
    pub(crate) alone_ns: f64,
    /// Nanoseconds per decision and thread, with all threads.
    pub(crate) together_ns: f64,
    /// Decisions per second of all threads together, over those of one on its own.
    pub(crate) scaling: f64,
}

/// The times of each racer, in their order, with one thread for each list of calls.
///
/// The racers take turns within each run, so that whatever else the machine does meets them alike, and every
/// run begins with another one. One lap each comes before and does not count.
pub(crate) fn race(racers: &[&dyn Racer], clock: &Clock, calls: &[Calls], runs: u32) -> Result<Vec<Times>> {
    for racer in racers {
        racer.lap(clock, calls)?;
    }
    let mut laps = vec![Vec::with_capacity(runs as usize); racers.len()];
    for run in 0..runs as usize {
        for turn in 0..racers.len() {
            let racer = (run + turn) % racers.len();
            let alone_ns = racers[racer].lap(clock, &calls[..1])?;
            let together_ns = racers[racer].lap(clock, calls)?;
            laps[racer].push((alone_ns, together_ns));
        }
    }
    Ok(laps.iter().map(|laps| times(laps, calls.len())).collect())
}

/// Scaling is taken within each run: its two laps follow each other, so a slow minute slows both.
fn times(laps: &[(f64, f64)], threads: usize) -> Times {
    Times {
        alone_ns: median(laps.iter().map(|(alone, _)| *alone).collect()),
        together_ns: median(laps.iter().map(|(_, together)| *together).collect()),
        scaling: median(laps.iter().map(|(alone, together)| threads as f64 * alone / together).collect()),
    }
}

/// One lap: every thread decides on its own calls, from a common start.
pub(crate) fn lap<C: Contestant>(contestant: &C, clock: &Clock, calls: &[Calls]) -> Result<f64> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let course = Course { clock, threads: calls.len(), start: Barrier::new(calls.len()), arrived: 0.into() };
    let laps: Vec<ThreadLap> = thread::scope(|scope| {
        let run = |(index, calls)| {
            let core = cores.get(index).copied();
            let course = &course;
            scope.spawn(move || thread_lap(contestant, course, calls, core))
        };
        let threads: Vec<_> = calls.iter().enumerate().map(run).collect();
        threads.into_iter().map(|thread| thread.join().expect("a lap does not panic")).collect()
    });
    for lap in &laps {
        ensure!(
            lap.admitted == lap.decisions,
            "{} admitted {} of {} decisions that its limits allow: its figures would mean nothing",
            C::NAME,
            lap.admitted,
            lap.decisions
        );
    }
    Ok(laps.iter().map(ThreadLap::ns_per_decision).sum::<f64>() / laps.len() as f64)
}

/// What the threads of a lap share.
struct Course<'a> {
    clock: &'a Clock,
    threads: usize,
    start: Barrier,
    arrived: AtomicUsize,
}

struct ThreadLap {
    time: Duration,
    decisions: usize,
    admitted: usize,
}

impl ThreadLap {
    fn ns_per_decision(&self) -> f64 {
        self.time.as_nanos() as f64 / self.decisions.max(1) as f64
    }
}

fn thread_lap<C: Contestant>(
    contestant: &C,
    course: &Course<'_>,
    calls: &Calls,
    core: Option<CoreId>,
) -> ThreadLap {
    if let Some(core) = core {
        // Where threads may not be pinned they are measured unpinned.
        core_affinity::set_for_current(core);
    }
    let mut lane = contestant.lane();
    let in_lap = calls.len() / C::PACE;
    let warm_up = in_lap / WARM_UP_PART;
    let decisions = in_lap - warm_up;
    for key in calls.keys(0..warm_up) {
        contestant.admit(&mut lane, key, C::Now::read(course.clock));
    }
    let mut admitted = 0;
    course.start.wait();
    let start = instant();
    for key in calls.keys(warm_up..in_lap) {
        admitted += usize::from(contestant.admit(&mut lane, key, C::Now::read(course.clock)));
    }
    let time = instant() - start;
    // Who is early goes on, untimed: otherwise the late ones would have the limiter to themselves.
    course.arrived.fetch_add(1, Ordering::Relaxed);
    for key in calls.keys(0..in_lap).cycle().take(in_lap * EXTRA_LAPS_MAX) {
        if course.arrived.load(Ordering::Relaxed) == course.threads {
            break;
        }
        contestant.admit(&mut lane, key, C::Now::read(course.clock));
    }
    ThreadLap { time, decisions, admitted }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        length if length.is_multiple_of(2) => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, lap, median, times};
    use crate::callers::Callers;
    use crate::contestant::Contestant;
    use crate::workload::Pattern;
    use anyhow::Result;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_in_the_middle() {
        assert!((median(vec![5.0, 1.0, 3.0]) - 3.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0, 3.0, 2.0]) - 2.5).abs() < f64::EPSILON);
    }

    #[test]
    fn two_threads_that_take_no_longer_than_one_scale_by_two() {
        let times = times(&[(10.0, 10.0), (20.0, 20.0), (30.0, 60.0)], 2);
        assert!((times.scaling - 2.0).abs() < f64::EPSILON);
        assert!((times.alone_ns - 20.0).abs() < f64::EPSILON);
        assert!((times.together_ns - 20.0).abs() < f64::EPSILON);
    }

    /// Refuses everything.
    struct Closed;

    impl Contestant for Closed {
        const NAME: &'static str = "closed";
        type Now = u64;
        type Lane = ();

        fn build(_callers: Callers) -> Result<Self> {
            Ok(Self)
        }

        fn lane(&self) {}

        fn admit(&self, _lane: &mut (), _key: &str, _now: u64) -> bool {
            false
        }
    }

    #[test]
    fn a_lap_with_refusals_is_an_error() {
        let calls = Pattern::Uniform.calls(Callers::THOUSAND, 2, 20);
        let error = lap(&Closed, &Clock::new(), &calls).unwrap_err().to_string();
        assert!(error.starts_with("closed admitted 0 of 18 decisions"), "{error}");
    }
}
