//! A server that clients of Redis can ask, and one of them.

use std::time::Duration;

use sluicegate_testkit::redis::{Client, Reply};
use sluicegate_testkit::server::Launch;

use crate::bed::Bed;

/// Nothing that is asked of a server on this machine takes longer, unless it is stuck.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn with_resp(launch: Launch) -> Launch {
    launch.arg("--resp").arg("127.0.0.1:0")
}

pub(super) fn client(bed: &Bed) -> Client {
    Client::connect(bed.server.resp(), PATIENCE).unwrap()
}

pub(super) fn asks(client: &mut Client, words: &[&str]) -> Reply {
    client.ask(words).unwrap()
}

/// A list of numbers.
#[track_caller]
pub(super) fn numbers(reply: &Reply) -> Vec<i64> {
    let Reply::List(items) = reply else { panic!("{reply:?}") };
    let number = |item: &Reply| match item {
        Reply::Number(number) => *number,
        other => panic!("{other:?}"),
    };
    items.iter().map(number).collect()
}

/// The value behind a name.
#[track_caller]
pub(super) fn field(reply: &Reply, name: &str) -> Reply {
    let Reply::List(items) = reply else { panic!("{reply:?}") };
    let found = items.chunks(2).find(|pair| pair[0].text() == name);
    found.unwrap_or_else(|| panic!("no {name}: {reply:?}"))[1].clone()
}
