//! The table of contents: every command, its name, and how many arguments it takes.

use super::reply::{Reply, shown};

/// A command that is known.
#[derive(Debug)]
pub(super) struct Known {
    /// Its name, as Redis would list it.
    name: &'static str,
    pub(super) verb: Verb,
    /// The number of arguments with the name; below zero, the fewest.
    arity: i8,
    pub(super) open_to: OpenTo,
    /// Which argument is a key, for whoever spreads commands by keys. 0: none.
    key: i8,
}

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Throttle,
    Check,
    Finish,
    Renew,
    Ping,
    Echo,
    Hello,
    Auth,
    Client,
    Command,
    Select,
    Info,
    Quit,
    Reset,
    /// What a browser sends: somebody was led to this port by a page.
    Http,
}

/// Who may call it where there is a password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OpenTo {
    /// Everybody.
    All,
    /// Whoever has said the password.
    SignedIn,
}

const fn known(name: &'static str, verb: Verb, arity: i8) -> Known {
    Known { name, verb, arity, open_to: OpenTo::SignedIn, key: 0 }
}

const fn open(name: &'static str, verb: Verb, arity: i8) -> Known {
    Known { open_to: OpenTo::All, ..known(name, verb, arity) }
}

/// The commands. Those that come for every request stand first.
const COMMANDS: [Known; 14] = [
    // It says by itself what is wrong with the number of its arguments.
    Known { key: 1, ..known("cl.throttle", Verb::Throttle, -1) },
    known("sluicegate.check", Verb::Check, -1),
    known("sluicegate.finish", Verb::Finish, -2),
    known("sluicegate.renew", Verb::Renew, 4),
    known("ping", Verb::Ping, -1),
    known("echo", Verb::Echo, 2),
    open("hello", Verb::Hello, -1),
    open("auth", Verb::Auth, -2),
    known("client", Verb::Client, -2),
    known("command", Verb::Command, -1),
    known("select", Verb::Select, 2),
    known("info", Verb::Info, -1),
    open("quit", Verb::Quit, -1),
    open("reset", Verb::Reset, 1),
];

/// The first words of a request in HTTP. They are not listed.
const OF_BROWSERS: [Known; 2] = [open("post", Verb::Http, -1), open("host:", Verb::Http, -1)];

/// The command of this name, in whatever letters.
#[inline]
pub(super) fn find(name: &[u8]) -> Option<&'static Known> {
    const ALL: &[Known] = &COMMANDS;
    const ALSO: &[Known] = &OF_BROWSERS;
    ALL.iter().chain(ALSO).find(|known| name.eq_ignore_ascii_case(known.name.as_bytes()))
}

impl Known {
    /// Whether it takes so many arguments, its name among them.
    pub(super) fn takes(&self, count: usize) -> bool {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let arity = i64::from(self.arity);
        if arity >= 0 { count == arity } else { count >= -arity }
    }

    #[cold]
    pub(super) fn refuse_count(&self, reply: &mut Reply<'_>) {
        reply.error(&format!("ERR wrong number of arguments for '{}' command", self.name));
    }

    fn list(&self, reply: &mut Reply<'_>) {
        reply.array(6);
        reply.text(self.name);
        reply.integer(self.arity.into());
        reply.array(1);
        reply.simple(if self.key == 0 { "fast" } else { "write" });
        (0..3).for_each(|_| reply.integer(self.key.into()));
    }
}

/// `COMMAND [COUNT | DOCS | LIST | INFO [name …]]`
pub(super) fn command(args: &[&[u8]], reply: &mut Reply<'_>) {
    let Some((about, names)) = args.split_first() else {
        reply.array(COMMANDS.len());
        return COMMANDS.iter().for_each(|known| known.list(reply));
    };
    match about.to_ascii_lowercase().as_slice() {
        b"count" => reply.unsigned(COMMANDS.len() as u64),
        b"docs" => reply.map(0),
        b"list" => {
            reply.array(COMMANDS.len());
            COMMANDS.iter().for_each(|known| reply.text(known.name));
        }
        b"info" => {
            reply.array(names.len());
            for name in names {
                match find(name) {
                    Some(known) => known.list(reply),
                    None => reply.null(),
                }
            }
        }
        _ => unknown_subcommand("COMMAND", about, reply),
    }
}

#[cold]
pub(super) fn unknown_subcommand(of: &str, name: &[u8], reply: &mut Reply<'_>) {
    reply.error(&format!("ERR unknown subcommand '{}'. Try {of} HELP.", shown(name)));
}

/// Says of a command what Redis says of one that it does not know.
#[cold]
pub(super) fn unknown(name: &[u8], args: &[&[u8]], reply: &mut Reply<'_>) {
    let mut text = format!("ERR unknown command '{}', with args beginning with: ", shown(name));
    let start = text.len();
    for arg in args {
        let left = 128_usize.saturating_sub(text.len() - start);
        if left == 0 {
            break;
        }
        text.push('\'');
        text.push_str(&shown(&arg[..arg.len().min(left)]));
        text.push_str("' ");
    }
    reply.error(&text);
}
