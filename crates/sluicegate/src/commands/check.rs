//! `sluicegate check`: what a running server decides about a request.

mod answer;

use anyhow::Context as _;
use http::{HeaderValue, Method};
use serde_json::{Value, json};

use crate::admin_client::read;
use crate::cli::Check;
use crate::environment;
use crate::exit::Exit;
use crate::http_client::{Content, Patience};
use crate::output::{self, Format};
use crate::service::{Refusal, Service};
use answer::{Decided, Verdict};

pub(super) fn run(args: &Check) -> anyhow::Result<Exit> {
    let Some((caller, secret)) = caller(args)? else {
        output::complain(&format!(
            "error: who is calling? Set {}, or give --key KEY or --service-token TOKEN\n",
            environment::KEY
        ));
        return Ok(Exit::WrongUsage);
    };
    let mut asked = json!({caller: secret, "method": args.method, "path": args.path, "peek": args.peek});
    if let Some(cost) = args.cost {
        asked["cost"] = json!(cost);
    }
    let service = Service::new(args.decision_url.clone(), "--decision-url");
    let token = decision_token()?;
    let answer = match service.ask(
        Method::POST,
        "/v1/check",
        token.as_ref(),
        Content::Json(&asked),
        Patience::Usual,
    ) {
        Ok(answer) => answer,
        Err(error) => return refused(error, args.format()),
    };
    give_back(&service, token.as_ref(), &answer);
    let decided: Decided = read(answer.clone())?;
    match args.format() {
        Format::Json => output::print_json(&answer)?,
        Format::Text => output::print(&decided.text())?,
    }
    Ok(match decided.verdict() {
        Verdict::Admitted => Exit::Done,
        Verdict::Denied => Exit::Failed,
    })
}

/// The member of the question that says who is calling, and its value. What is typed stands over what is set.
fn caller(args: &Check) -> anyhow::Result<Option<(&'static str, String)>> {
    let (key, token) = ("key", "service_token");
    if let Some(text) = &args.key {
        return Ok(Some((key, text.clone())));
    }
    if let Some(text) = &args.service_token {
        return Ok(Some((token, text.clone())));
    }
    if let Some(text) = environment::secret(environment::KEY)? {
        return Ok(Some((key, text)));
    }
    Ok(environment::secret(environment::SERVICE_TOKEN)?.map(|text| (token, text)))
}

/// The token of the decision port, if one is set.
fn decision_token() -> anyhow::Result<Option<HeaderValue>> {
    let Some(token) = environment::secret(environment::DECISION_TOKEN)? else { return Ok(None) };
    let mut header = HeaderValue::try_from(format!("Bearer {token}"))
        .with_context(|| format!("{} cannot stand in a header", environment::DECISION_TOKEN))?;
    header.set_sensitive(true);
    Ok(Some(header))
}

/// Nobody is going to serve the request: the place it took among those in flight is another's.
fn give_back(service: &Service, token: Option<&HeaderValue>, answer: &Value) {
    let Some(permit) = answer["permit"].as_str() else { return };
    let finish = json!({"permit": permit});
    let finished = service.ask(Method::POST, "/v1/finish", token, Content::Json(&finish), Patience::Usual);
    if let Err(error) = finished {
        output::complain(&format!("warning: a place in flight is taken until it ends by itself: {error}\n"));
    }
}

/// No decision was made. Who asked for JSON gets what the server answered.
fn refused(error: anyhow::Error, format: Format) -> anyhow::Result<Exit> {
    match error.downcast_ref::<Refusal>() {
        Some(refusal) if format == Format::Json => {
            output::print_json(refusal.document())?;
            Ok(Exit::Failed)
        }
        _ => Err(error),
    }
}
