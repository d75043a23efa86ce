//! `sluicegate audit verify`: the spool against its chain, and the audit log against what was signed of it.

use anyhow::anyhow;
use sluicegate_ledger::Ledger;
use sluicegate_ledger::chain::{FirstBad, Verified, VerifyError};

use super::log::{self, AuditLog};
use super::progress::Progress;
use super::report;
use crate::cli::AuditVerify;
use crate::exit::Exit;

/// What is proven.
pub(super) struct Proof {
    pub(super) verified: Verified,
    pub(super) audit: AuditLog,
}

/// Why nothing is.
pub(super) enum Failure {
    /// Something is not what it was.
    Bad(Box<FirstBad>),
    /// It could not be looked at.
    Unread(anyhow::Error),
}

impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::Bad(bad) => Self::Bad(bad),
            other => Self::Unread(other.into()),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Unread(error)
    }
}

pub(super) fn run(args: &AuditVerify) -> anyhow::Result<Exit> {
    match verify(args) {
        Ok(proof) => {
            report::proof(args.format(), &proof)?;
            Ok(Exit::Done)
        }
        Err(failure) => {
            report::failure(args.format(), &failure)?;
            Ok(Exit::Failed)
        }
    }
}

fn verify(args: &AuditVerify) -> Result<Proof, Failure> {
    let dir = &args.data_dir;
    if !dir.is_dir() {
        let error = anyhow!("there is no directory {}: name the server's with --data-dir", dir.display());
        return Err(error.into());
    }
    let (ledger, spool) = (dir.join("ledger"), dir.join("spool"));
    let progress = Progress::new();
    let verified =
        Ledger::verify_and_tell(&ledger, &spool, args.public_key, &mut |checked| progress.show(checked));
    progress.end();
    let verified = verified?;
    if verified.key.is_none() {
        let error = anyhow!(
            "nothing is signed in {}: `sluicegate serve` signs what it has recorded within a minute of its start\n  is \
             this its data directory? Another one: --data-dir",
            ledger.display()
        );
        return Err(error.into());
    }
    let signed = verified.checkpoint.map(|checkpoint| checkpoint.audit).unwrap_or_default();
    let audit = log::check(args, &ledger, signed)?;
    Ok(Proof { verified, audit })
}
