//! A process that ends while it is not known what a call did: the next one finds out and undoes it, once.

use sluicegate_core::plan::{HomeId, Mode};
use sluicegate_store::redis::{Away, Homes, HomesSettings, Meters, NodeId, Owed, SentIn, Seq};
use sluicegate_testkit::chaos;
use sluicegate_testkit::redis::Engine;
use sluicegate_testkit::wait;
use tokio::runtime::Runtime;

use crate::bed::{PATIENT, link, monthly, rate};
use crate::homes_bed::{DEADLINE, HomesBed, owed, plan};
use crate::on_each_engine;

const HOME: HomeId = HomeId(1);

on_each_engine!(what_a_process_has_lost_the_next_one_undoes_once, what_was_never_done_is_not_undone);

/// A process of one node, whose tasks end with it.
struct Process {
    runtime: Runtime,
    homes: Homes,
}

impl Process {
    fn start(bed: &HomesBed, first_seq: u64) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let (runtime, url) = (runtime.unwrap(), format!("redis://{}", bed.proxy.address()));
        let link = runtime.block_on(async { link(&url, DEADLINE) });
        runtime.block_on(link.ready(PATIENT)).unwrap();
        let settings = HomesSettings { deadline: DEADLINE, ..HomesSettings::default() };
        let (node, first_seq) = (NodeId(1), Seq::new(first_seq).unwrap());
        Self { runtime, homes: Homes::new(Meters::new(link, node), node, first_seq, settings) }
    }

    fn charge(&self, owed: &Owed) {
        wait::until("a charge", || self.runtime.block_on(self.homes.settle(owed.clone())).ok());
    }

    /// Asks for something that is not answered, and ends.
    fn lose(self, owed: &Owed) -> SentIn {
        let Self { runtime, homes } = self;
        let asked = runtime.block_on(async { homes.settle_noting(owed.clone(), homes.expiry()).await });
        let not = asked.unwrap_err();
        assert_eq!(not.away, Away::InDoubt);
        let call = not.call.unwrap();
        assert!(homes.is_open(HOME, call.seq));
        // The next waiter is in no call at all.
        let next = runtime.block_on(async { homes.settle_noting(owed.clone(), homes.expiry()).await });
        assert_eq!(next.unwrap_err().call, None);
        runtime.shutdown_background();
        call
    }

    fn undo(&self, call: SentIn, owed: &Owed) {
        self.homes.block(HOME, call.seq);
        assert!(self.homes.is_in_doubt(HOME) && self.homes.is_open(HOME, call.seq));
        let blocked = self.runtime.block_on(self.homes.settle(owed.clone()));
        assert_eq!(blocked, Err(Away::InDoubt));
        let _within = self.runtime.enter();
        self.homes.undo_lost(HOME, call.seq, vec![(call.place, owed.clone())]);
        wait::until("it is known", || (self.homes.active() == 0).then_some(()));
        assert!(!self.homes.is_open(HOME, call.seq));
    }
}

fn what_a_process_has_lost_the_next_one_undoes_once(engine: Engine) {
    let (bed, plan) = (HomesBed::new(engine), plan(&[rate(1_000_000, 1_000_000), monthly(1_000_000)]));
    let first = Process::start(&bed, 1_000);
    first.charge(&owed(&plan, 1, 3, Mode::Charge));
    bed.proxy.set(chaos::Mode::HalfCut);
    let lost = owed(&plan, 1, 5, Mode::Charge);
    let call = first.lose(&lost);
    bed.proxy.set(chaos::Mode::Pass);
    assert_eq!(bed.used(&bed.node(2, PATIENT), &plan, 1)[1], 8);
    // The third does not know that the second has done it.
    for first_seq in [2_000_000, 3_000_000] {
        let next = Process::start(&bed, first_seq);
        next.undo(call, &lost);
        assert_eq!(bed.used(&bed.node(2, PATIENT), &plan, 1)[1], 3);
    }
}

fn what_was_never_done_is_not_undone(engine: Engine) {
    let (bed, plan) = (HomesBed::new(engine), plan(&[rate(1_000_000, 1_000_000), monthly(1_000_000)]));
    let first = Process::start(&bed, 1_000);
    first.charge(&owed(&plan, 1, 3, Mode::Charge));
    bed.proxy.set(chaos::Mode::Cut);
    let lost = owed(&plan, 1, 5, Mode::Charge);
    let asked =
        first.runtime.block_on(async { first.homes.settle_noting(lost.clone(), first.homes.expiry()).await });
    // Depending on when the cut is noticed, a call was made or not.
    let call = asked.unwrap_err().call;
    first.runtime.shutdown_background();
    bed.proxy.set(chaos::Mode::Pass);
    let call = call.unwrap_or(SentIn { seq: Seq::new(900_000).unwrap(), place: 0 });
    let next = Process::start(&bed, 1_000_000);
    next.undo(call, &lost);
    assert_eq!(bed.used(&bed.node(2, PATIENT), &plan, 1)[1], 3);
}
