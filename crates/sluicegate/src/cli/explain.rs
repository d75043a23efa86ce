//! `sluicegate explain`: its arguments.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::admin::Admin;

/// Which decision.
#[derive(Args, Debug)]
pub(crate) struct Explain {
    /// The id of the decision, as the header X-Sluicegate-Decision and the body of the denial give it.
    #[arg(value_name = "DECISION_ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) admin: Admin,
}
