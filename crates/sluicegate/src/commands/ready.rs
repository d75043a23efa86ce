//! `sluicegate ready`: whether a running server takes requests.

use http::Method;

use crate::cli::Ready;
use crate::exit::Exit;
use crate::http_client::{Content, Patience};
use crate::output;
use crate::service::Service;

pub(super) fn run(args: &Ready) -> anyhow::Result<Exit> {
    let service = Service::new(args.admin_url.clone(), "--admin-url");
    let answer = service.ask(Method::GET, "/ready", None, Content::Nothing, Patience::Usual)?;
    if answer["ready"] == true {
        output::print("ready\n")?;
        return Ok(Exit::Done);
    }
    output::complain(&format!("error: {} is not ready\n", args.admin_url));
    Ok(Exit::Failed)
}
