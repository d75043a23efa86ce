//! The suite `core`: one decision in memory, for a caller found by a key string.
//!
//! Ours settles a rate and a quota; each peer checks one limit. Every contestant is filled with all callers
//! before it is timed, so that no lap pays for a table that grows.

use crate::callers::Callers;
use crate::contestant::Contestant;
use crate::memory;
use crate::ours::Ours;
use crate::peers::governor::Governor;
use crate::peers::limitador::Limitador;
use crate::peers::throttlecrab::Throttlecrab;
use crate::report::{Better, Case, Report, Row, note};
use crate::timing::{self, Clock, Now, Racer};
use crate::workload::{Calls, KEY_LENGTH, Pattern, write_key};
use anyhow::{Result, ensure};

const SUITE: &str = "core";

/// As in the names of the cases that end in `2t`.
const THREADS: u64 = 2;

/// How much to measure.
pub(crate) struct Options {
    pub(crate) callers: Vec<Callers>,
    pub(crate) runs: u32,
    decisions_per_lap: usize,
}

impl Options {
    pub(crate) fn full() -> Self {
        let callers = vec![Callers::THOUSAND, Callers::MILLION, Callers::TEN_MILLION];
        Self { callers, runs: 5, decisions_per_lap: 1_000_000 }
    }

    pub(crate) fn quick() -> Self {
        let callers = vec![Callers::THOUSAND, Callers::HUNDRED_THOUSAND];
        Self { callers, runs: 5, decisions_per_lap: 50_000 }
    }
}

/// Measures every case and adds its rows to the report.
pub(crate) fn run(options: &Options, report: &mut Report) -> Result<()> {
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
        note("there is one core only: the figures for two threads say nothing about scaling");
    }
    let clock = Clock::new();
    for &callers in &options.callers {
        let field = Field::fill(callers, &clock)?;
        field.report_bytes(callers, report)?;
        for pattern in Pattern::ALL {
            field.report_times(options, callers, pattern, &clock, report)?;
        }
    }
    Ok(())
}

/// Ours and the peers, filled.
struct Field {
    ours: Box<dyn Entrant>,
    peers: Vec<Box<dyn Entrant>>,
}

impl Field {
    fn fill(callers: Callers, clock: &Clock) -> Result<Self> {
        let ours = enter::<Ours>(callers, clock)?;
        let mut peers = vec![enter::<Governor>(callers, clock)?, enter::<Throttlecrab>(callers, clock)?];
        if callers.get() <= Limitador::CALLERS_MAX {
            peers.push(enter::<Limitador>(callers, clock)?);
        } else {
            note(&format!(
                "{callers} callers: {} is left out, it needs about 1 KB for each",
                Limitador::NAME
            ));
        }
        Ok(Self { ours, peers })
    }

    fn report_bytes(&self, callers: Callers, report: &mut Report) -> Result<()> {
        let case = case(format!("memory/{callers}"), "bytes", Better::Lower);
        let figures: Vec<f64> = self.entrants().map(Entrant::bytes_per_caller).collect();
        self.report(&case, &figures, report)
    }

    /// Time per decision with one and with two threads, and what the second thread adds.
    fn report_times(
        &self,
        options: &Options,
        callers: Callers,
        pattern: Pattern,
        clock: &Clock,
        report: &mut Report,
    ) -> Result<()> {
        let calls = pattern.calls(callers, THREADS, options.decisions_per_lap);
        let racers: Vec<&dyn Racer> = self.entrants().map(|entrant| entrant as &dyn Racer).collect();
        let times = timing::race(&racers, clock, &calls, options.runs)?;

        let pattern = pattern.name();
        let columns: [(Case, Vec<f64>); 3] = [
            (
                case(format!("decision/{callers}/{pattern}/1t"), "ns", Better::Lower),
                times.iter().map(|times| times.alone_ns).collect(),
            ),
            (
                case(format!("decision/{callers}/{pattern}/2t"), "ns", Better::Lower),
                times.iter().map(|times| times.together_ns).collect(),
            ),
            (
                case(format!("scaling/{callers}/{pattern}/2t"), "x", Better::Higher),
                times.iter().map(|times| times.scaling).collect(),
            ),
        ];
        columns.iter().try_for_each(|(case, figures)| self.report(case, figures, report))
    }

    /// Ours first.
    fn entrants(&self) -> impl Iterator<Item = &dyn Entrant> {
        std::iter::once(&self.ours).chain(&self.peers).map(AsRef::as_ref)
    }

    /// One figure per entrant, ours first; one row per peer.
    fn report(&self, case: &Case, figures: &[f64], report: &mut Report) -> Result<()> {
        let Some((&ours, of_peers)) = figures.split_first() else {
            return Ok(());
        };
        for (peer, &value) in self.peers.iter().zip(of_peers) {
            report.add(Row::new(case, ours, peer.name(), value))?;
        }
        Ok(())
    }
}

const fn case(name: String, unit: &'static str, better: Better) -> Case {
    Case { suite: SUITE, name, unit, better }
}

/// A filled contestant.
trait Entrant: Racer {
    fn name(&self) -> &'static str;
    fn bytes_per_caller(&self) -> f64;
}

struct Filled<C> {
    contestant: C,
    bytes_per_caller: f64,
}

/// Builds a contestant and lets it decide once on every caller.
fn enter<C: Contestant + 'static>(callers: Callers, clock: &Clock) -> Result<Box<dyn Entrant>> {
    let ((filled, bytes), time) = timing::timed(|| memory::kept_by(|| fill::<C>(callers, clock)));
    let contestant = filled?;
    let bytes = bytes + contestant.bytes_unallocated();
    note(&format!("{callers} callers: filled {} in {:.1} s", C::NAME, time.as_secs_f64()));
    Ok(Box::new(Filled { contestant, bytes_per_caller: bytes as f64 / f64::from(callers.get()) }))
}

fn fill<C: Contestant>(callers: Callers, clock: &Clock) -> Result<C> {
    let contestant = C::build(callers)?;
    let mut lane = contestant.lane();
    let mut key = String::with_capacity(KEY_LENGTH);
    for caller in 0..callers.get() {
        key.clear();
        write_key(caller, &mut key);
        let admitted = contestant.admit(&mut lane, &key, C::Now::read(clock));
        ensure!(admitted, "{} refused the first call of {key}", C::NAME);
    }
    Ok(contestant)
}

impl<C: Contestant> Racer for Filled<C> {
    fn lap(&self, clock: &Clock, calls: &[Calls]) -> Result<f64> {
        timing::lap(&self.contestant, clock, calls)
    }
}

impl<C: Contestant> Entrant for Filled<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn bytes_per_caller(&self) -> f64 {
        self.bytes_per_caller
    }
}
