//! Retries around a client of reqwest.

use reqwest::{Client, Error, Request, Response};

use crate::facts::Repeatable;
use crate::layer::Course;
use crate::policy::{GaveUp, Next, RetryPolicy};
use crate::runtime::{Runtime, TokioRuntime};
use crate::trouble::Trouble;

/// A client of reqwest that tries again.
///
/// An answer that is a failure and not tried again has the reason in its extensions: [`GaveUp`]. A body that is a
/// stream can be sent once only, so such a request is not tried again.
///
/// ```no_run
/// use tollgate_client::{RetryPolicy, RetryingClient};
///
/// # async fn example() -> Result<(), reqwest::Error> {
/// let client = RetryingClient::new(reqwest::Client::new(), RetryPolicy::default());
/// let request = client.inner().get("http://127.0.0.1:8080/reports").build()?;
/// println!("{}", client.execute(request).await?.status());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RetryingClient<T = TokioRuntime> {
    client: Client,
    policy: RetryPolicy,
    runtime: T,
}

impl RetryingClient {
    /// Tries again as this policy says. How long one try may take is up to the client.
    pub fn new(client: Client, policy: RetryPolicy) -> Self {
        Self { client, policy, runtime: TokioRuntime }
    }
}

impl<T: Runtime> RetryingClient<T> {
    /// Takes the time, sleep and random numbers from here.
    #[must_use]
    pub fn with_runtime<T2: Runtime>(self, runtime: T2) -> RetryingClient<T2> {
        RetryingClient { client: self.client, policy: self.policy, runtime }
    }

    /// The client itself, to make requests with.
    pub fn inner(&self) -> &Client {
        &self.client
    }

    /// Sends a request until it succeeds, or the policy gives up.
    pub async fn execute(&self, request: Request) -> Result<Response, Error> {
        let mut course = Course::new(self.policy, Repeatable::of(request.method(), request.headers()));
        loop {
            let Some(copy) = request.try_clone() else { return self.client.execute(request).await };
            let answer = self.client.execute(copy).await;
            let next = match &answer {
                Ok(response) => course.answered(response.status(), response.headers(), &self.runtime),
                Err(error) => Some(course.failed(trouble(error), &self.runtime)),
            };
            match (next, answer) {
                (Some(Next::Wait(wait)), _) => self.runtime.sleep(wait).await,
                (Some(Next::GiveUp(reason)), Ok(mut response)) => {
                    response.extensions_mut().insert(GaveUp { reason, tries: course.tries() });
                    return Ok(response);
                }
                (_, answer) => return answer,
            }
        }
    }
}

fn trouble(error: &Error) -> Trouble {
    if error.is_connect() { Trouble::Unreachable } else { Trouble::Broken }
}
