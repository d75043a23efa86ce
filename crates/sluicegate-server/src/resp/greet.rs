//! What clients say when they connect: which form they speak, what they are called, and whether anybody is there.

use super::RespService;
use super::auth::sign_in;
use super::reply::{Protocol, Reply, shown};
use super::session::{Auth, Session};
use super::table::unknown_subcommand;

/// The Redis whose answers to clients that connect these are. Clients tell by it what they may send.
const LIKE_REDIS: &str = "7.4.0";

/// The longest name that a client gives itself.
const NAME_BYTES_MAX: usize = 128;

/// `PING [message]`
pub(super) fn ping(args: &[&[u8]], reply: &mut Reply<'_>) {
    match args {
        [] => reply.simple("PONG"),
        [message] => reply.bulk(message),
        _ => reply.error("ERR wrong number of arguments for 'ping' command"),
    }
}

/// `SELECT index`
pub(super) fn select(args: &[&[u8]], reply: &mut Reply<'_>) {
    match args.first().and_then(|index| std::str::from_utf8(index).ok()?.parse::<i64>().ok()) {
        None => reply.error("ERR value is not an integer or out of range"),
        Some(0) => reply.simple("OK"),
        Some(_) => reply.error("ERR DB index is out of range"),
    }
}

/// `INFO [section …]`
pub(super) fn info(service: &RespService, reply: &mut Reply<'_>) {
    let version = env!("CARGO_PKG_VERSION");
    let mode = service.engine.store_mode().as_str();
    reply.verbatim(&format!(
        "# Server\r\nredis_version:{LIKE_REDIS}\r\nredis_mode:standalone\r\nsluicegate_version:{version}\r\n\
         sluicegate_mode:{mode}\r\n"
    ));
}

/// `HELLO [protover [AUTH username password] [SETNAME name]]`
pub(super) fn hello(session: &mut Session<'_>, args: &[&[u8]], reply: &mut Reply<'_>) {
    match greeted(session, args) {
        Ok(()) => {
            reply.protocol = session.protocol;
            introduce(session, reply);
        }
        Err(error) => reply.error(&error),
    }
}

/// Takes in what was said. Nothing of it, if a part is wrong.
fn greeted(session: &mut Session<'_>, args: &[&[u8]]) -> Result<(), String> {
    let protocol = match args.first() {
        None => session.protocol,
        Some(version) => match std::str::from_utf8(version).ok().and_then(|text| text.parse::<i64>().ok()) {
            None => return Err("ERR Protocol version is not an integer or out of range".to_owned()),
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Err("NOPROTO unsupported protocol version".to_owned()),
        },
    };
    let (mut credentials, mut name) = (None, None);
    let mut rest = args.get(1..).unwrap_or_default();
    while let Some((option, values)) = rest.split_first() {
        rest = match values {
            [user, password, rest @ ..] if option.eq_ignore_ascii_case(b"auth") => {
                credentials = Some((*user, *password));
                rest
            }
            [given, rest @ ..] if option.eq_ignore_ascii_case(b"setname") => {
                check_name(given)?;
                name = Some(*given);
                rest
            }
            _ => return Err(format!("ERR Syntax error in HELLO option '{}'", shown(option))),
        };
    }
    if let Some((user, password)) = credentials {
        sign_in(session, user, password)?;
    }
    if session.auth == Auth::Missing {
        let text = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> \
                    AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol \
                    version at the same time";
        return Err(text.to_owned());
    }
    if let Some(name) = name {
        session.name = name.to_vec();
    }
    session.protocol = protocol;
    Ok(())
}

fn introduce(session: &Session<'_>, reply: &mut Reply<'_>) {
    reply.map(7);
    for (field, value) in [("server", "sluicegate"), ("version", LIKE_REDIS)] {
        reply.text(field);
        reply.text(value);
    }
    reply.text("proto");
    reply.integer(match session.protocol {
        Protocol::Resp2 => 2,
        Protocol::Resp3 => 3,
    });
    reply.text("id");
    reply.unsigned(session.id);
    for (field, value) in [("mode", "standalone"), ("role", "master")] {
        reply.text(field);
        reply.text(value);
    }
    reply.text("modules");
    reply.array(0);
}

/// `CLIENT SETINFO | SETNAME | GETNAME | ID`
pub(super) fn client(session: &mut Session<'_>, args: &[&[u8]], reply: &mut Reply<'_>) {
    let Some((about, args)) = args.split_first() else { return };
    match (about.to_ascii_lowercase().as_slice(), args) {
        // What library a client is made with changes nothing here.
        (b"setinfo", [_, _]) => reply.simple("OK"),
        (b"setname", [name]) => match check_name(name) {
            Ok(()) => {
                session.name = name.to_vec();
                reply.simple("OK");
            }
            Err(error) => reply.error(error),
        },
        (b"getname", []) if session.name.is_empty() => reply.null(),
        (b"getname", []) => reply.bulk(&session.name),
        (b"id", []) => reply.unsigned(session.id),
        (about @ (b"setinfo" | b"setname" | b"getname" | b"id"), _) => {
            let about = shown(about);
            reply.error(&format!("ERR wrong number of arguments for 'client|{about}' command"));
        }
        _ => unknown_subcommand("CLIENT", about, reply),
    }
}

fn check_name(name: &[u8]) -> Result<(), &'static str> {
    if name.len() > NAME_BYTES_MAX {
        return Err("ERR Client names may have at most 128 bytes.");
    }
    if !name.iter().all(u8::is_ascii_graphic) {
        return Err("ERR Client names cannot contain spaces, newlines or special characters.");
    }
    Ok(())
}
