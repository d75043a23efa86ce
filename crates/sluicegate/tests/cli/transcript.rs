//! A session at the terminal: what was typed, what was printed, how it ended. What differs from run to run is made
//! the same.

use std::process::Command;

use serde_json::Value;

use crate::run::{Ended, command, ended};
use crate::server::Server;

/// A session with a server.
pub(crate) struct Transcript<'s> {
    server: &'s Server,
    text: String,
    /// What is made the same: as it is, and as it is shown.
    names: Vec<(String, String)>,
}

impl<'s> Transcript<'s> {
    pub(crate) fn new(server: &'s Server) -> Self {
        let folder = server.folder().display().to_string();
        let known =
            [(server.admin(), "http://ADMIN"), (server.decision(), "http://DECISION"), (&folder, "FOLDER")];
        let names = known.map(|(is, shown)| (is.to_owned(), shown.to_owned())).to_vec();
        Self { server, text: String::new(), names }
    }

    /// Shows this word as that one from now on. Words of the same length keep tables straight.
    pub(crate) fn call(&mut self, is: &str, shown: &str) {
        self.names.push((is.to_owned(), shown.to_owned()));
    }

    /// Types a command to the server.
    pub(crate) fn run(&mut self, args: &[&str]) -> Ended {
        self.run_with(args, |_| {})
    }

    /// Types a command after changing what it is started with.
    pub(crate) fn run_with(&mut self, args: &[&str], change: impl FnOnce(&mut Command)) -> Ended {
        let mut typed = command(args);
        typed
            .env("SLUICEGATE_ADMIN_URL", self.server.admin())
            .env("SLUICEGATE_DECISION_URL", self.server.decision())
            .env("SLUICEGATE_DATA_DIR", self.server.data_dir());
        change(&mut typed);
        let ended = ended(typed);
        let quoted =
            args.iter().map(|arg| if arg.contains(' ') { format!("\"{arg}\"") } else { (*arg).to_owned() });
        let line = quoted.collect::<Vec<_>>().join(" ");
        self.text.push_str(&format!(
            "$ sluicegate {line}\n{}{}[{}]\n\n",
            ended.stdout, ended.stderr, ended.status
        ));
        ended
    }

    /// Types a command that is to succeed, and gives the JSON it prints.
    #[track_caller]
    pub(crate) fn json(&mut self, args: &[&str]) -> Value {
        let ended = self.run(&[args, &["--json"]].concat());
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{ended:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// All of it, the same in every run.
    pub(crate) fn text(&self) -> String {
        let mut text = self.text.trim_end().to_owned() + "\n";
        for (is, shown) in &self.names {
            text = text.replace(is, shown);
        }
        same_uids(&same_ids(&same_times(&text)))
    }
}

/// A time to the millisecond, a digit for every `0`.
const TIME: &[u8] = b"0000-00-00T00:00:00.000Z";

fn same_times(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for start in 0..bytes.len().saturating_sub(TIME.len() - 1) {
        let window = &mut bytes[start..start + TIME.len()];
        let is = |(is, shape): (&u8, &u8)| if *shape == b'0' { is.is_ascii_digit() } else { is == shape };
        if window.iter().zip(TIME).all(is) {
            window.copy_from_slice(TIME);
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Accounts have unique ids: numbers of sixteen digits.
fn same_uids(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for word in bytes.split_mut(|byte| !byte.is_ascii_alphanumeric()) {
        if word.len() == 16 && word.iter().all(u8::is_ascii_digit) {
            word.fill(b'0');
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Decisions have random ids.
fn same_ids(text: &str) -> String {
    let mut parts = text.split("dec_");
    let mut same = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len());
        same.push_str(&format!("dec_{}{}", "0".repeat(end), &part[end..]));
    }
    same
}
