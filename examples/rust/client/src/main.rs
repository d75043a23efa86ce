//! Calls an API that limits its callers: waits as long as the server says, and gives up where a retry cannot help.

use sluicegate_client::{GaveUp, RetryBudget, RetryPolicy, RetryingClient};
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: client <url>")?;
    let key = std::env::var("API_KEY").unwrap_or_default();

    let policy = RetryPolicy::default().with_deadline(Duration::from_secs(30));
    let client = RetryingClient::new(reqwest::Client::new(), policy)
        .with_budget(RetryBudget::default()) // at most a share of the requests are retries
        .adaptive(); // learns the limits, and waits before a request rather than after a refusal

    let order = client.post(&url).bearer_auth(&key).idempotency_key("order-1").body("tea");
    let response = order.send().await?;
    match response.extensions().get::<GaveUp>() {
        Some(gave_up) => println!("{}: {gave_up}", response.status()),
        None => println!("{}", response.status()),
    }
    Ok(())
}
