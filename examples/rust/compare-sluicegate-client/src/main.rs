//! sluicegate-client: waits as long as the server says.

use sluicegate_client::{RetryPolicy, RetryingClient};
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: compare-sluicegate-client <url>")?;
    let policy = RetryPolicy::default().with_deadline(Duration::from_secs(30));
    let client = RetryingClient::new(reqwest::Client::new(), policy).adaptive();
    println!("{}", client.get(&url).send().await?.status());
    Ok(())
}
