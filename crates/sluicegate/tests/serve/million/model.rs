//! The outside count: what an account has used by the answers it got, and what the next answer has to be.

/// What a quota does when it is spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spent {
    /// It refuses.
    Refuses,
    /// It bills what is beyond.
    Bills,
}

/// The quota that an account has now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Quota {
    pub(super) amount: u64,
    pub(super) spent: Spent,
}

/// What was charged for one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Charge {
    /// Which of the account's meters counts it.
    pub(super) meter: usize,
    pub(super) cost: u64,
}

/// What one meter says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meter {
    pub(super) used: u64,
    /// Of before the last change of the quota: what was recorded as overage, and used then.
    recorded: u64,
    used_at_change: u64,
}

impl Meter {
    fn overage(self, quota: Quota) -> u64 {
        match quota.spent {
            Spent::Refuses => 0,
            Spent::Bills => self.recorded + self.used.saturating_sub(quota.amount.max(self.used_at_change)),
        }
    }
}

/// What an account has used.
#[derive(Clone, Debug)]
pub(super) struct Count {
    pub(super) quota: Quota,
    /// What its meters say: one, or one for each key.
    pub(super) meters: Vec<Meter>,
    pub(super) total: u64,
    pub(super) requests: u64,
    /// Charges, corrections and refunds.
    pub(super) records: u64,
    /// What may have been charged, with no answer to tell.
    pub(super) unknown: u64,
    pub(super) unknown_requests: u64,
}

impl Count {
    pub(super) fn new(quota: Quota, meters: usize) -> Self {
        let meters = vec![Meter::default(); meters];
        Self { quota, meters, total: 0, requests: 0, records: 0, unknown: 0, unknown_requests: 0 }
    }

    /// The quota is another from now on. What was used stays so, and what was billed.
    pub(super) fn change(&mut self, quota: Quota) {
        for meter in &mut self.meters {
            meter.recorded = meter.overage(self.quota);
            meter.used_at_change = meter.used;
        }
        self.quota = quota;
    }

    fn overage(&self) -> u64 {
        self.meters.iter().map(|meter| meter.overage(self.quota)).sum()
    }

    /// What becomes of a request: nothing if it has to be refused.
    pub(super) fn charge(&mut self, meter: usize, cost: u64) -> Option<Charge> {
        let Quota { amount, spent } = self.quota;
        let after = self.meters[meter].used + cost;
        if after > amount && spent == Spent::Refuses {
            return None;
        }
        self.requests += 1;
        Some(self.force(meter, cost))
    }

    /// What is charged whatever the quota says.
    fn force(&mut self, meter: usize, cost: u64) -> Charge {
        self.meters[meter].used += cost;
        self.total += cost;
        self.records += 1;
        Charge { meter, cost }
    }

    /// A request has cost this in the end.
    pub(super) fn finish(&mut self, charge: Charge, settled: u64) {
        if settled > charge.cost {
            self.force(charge.meter, settled - charge.cost);
        } else if settled < charge.cost {
            let difference = charge.cost - settled;
            self.meters[charge.meter].used -= difference;
            self.total -= difference;
            self.records += 1;
        } else {
            // It says only that the permit is finished.
            self.records += 1;
        }
    }

    /// A request got no answer.
    pub(super) fn lose(&mut self, cost: u64) {
        self.unknown += cost;
        self.unknown_requests += 1;
    }

    /// Whether the ledger may say this.
    #[track_caller]
    pub(super) fn expect(&self, whose: &str, total: u64, overage: u64, requests: u64) {
        let bounds = |least: u64, unknown: u64| least..=least + unknown;
        assert!(bounds(self.total, self.unknown).contains(&total), "{whose}: {total}, not {self:?}");
        assert!(
            bounds(self.requests, self.unknown_requests).contains(&requests),
            "{whose}: {requests} requests, not {self:?}"
        );
        assert_eq!(overage, self.overage(), "{whose}: {self:?}");
    }
}
