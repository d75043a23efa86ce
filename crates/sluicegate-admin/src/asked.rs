//! What is asked about decisions: the parameters of the calls, described and read.

use utoipa::IntoParams;

use super::input::wrong_query;
use super::problem::Problem;

/// The parameter of the overview, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "it describes what is read by hand, so that every complaint names its parameter"
)]
pub(crate) struct OverviewParams {
    /// How long the series is.
    #[param(minimum = 1, maximum = 60, default = 60, required = false)]
    minutes: u8,
}

/// The parameters of the list of callers, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "it describes what is read by hand, so that every complaint names its parameter"
)]
pub(crate) struct TopParams {
    /// What is counted: `requests` or `refusals`.
    #[param(required = false, pattern = "^(requests|refusals)$", default = "requests")]
    by: String,
    /// How many entries at most.
    #[param(minimum = 1, maximum = 100, default = 20, required = false)]
    limit: u8,
}

/// The parameters of denials, for the description of the API.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "it describes what is read by hand, so that every complaint names its parameter"
)]
pub(crate) struct DecisionParams {
    /// Of this account only.
    #[param(required = false, example = "acme")]
    account: String,
    /// How many entries at most.
    #[param(minimum = 1, maximum = 200, default = 50, required = false)]
    limit: u8,
    /// The `next` of the page before.
    #[param(required = false, example = "dec_01k8zv4qe0h3n8d5rj2m7w9xab")]
    cursor: String,
}

/// A number from 1 to `most`: digits only.
pub(super) fn read_count(name: &str, text: &str, most: usize) -> Result<usize, Problem> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let count = text.parse().ok().filter(|count| digits && (1..=most).contains(count));
    count.ok_or_else(|| wrong_query(name, &format!("is not a number from 1 to {most}")))
}
