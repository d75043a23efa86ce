//! The password of the listener: compared without telling how much of a guess was right, and printed as stars.

use std::fmt;

use super::reply::Reply;
use super::session::{Auth, Session};
use crate::access;

/// What tokens start with: a wrong one is refused, also where none is needed.
const TOKEN_START: &[u8] = b"sgt_";

const NONE_SET: &str = "ERR AUTH <password> called without any password configured for the default user. \
                        Are you sure your configuration is correct?";
const WRONG: &str = "WRONGPASS invalid username-password pair or user is disabled.";

/// The user of the password. Holders of a token may also give its name.
const USER: &[u8] = b"default";

/// What has to be said before anything is answered. Only its hash is kept.
#[derive(Clone, Copy)]
pub struct Password(blake3::Hash);

impl Password {
    /// The password that is this text.
    pub fn new(text: &str) -> Self {
        Self(blake3::hash(text.as_bytes()))
    }

    /// Whether it is what was said. Hashes are compared, in constant time.
    fn is(&self, said: &[u8]) -> bool {
        self.0 == blake3::hash(said)
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(***)")
    }
}

/// `AUTH [username] password`
pub(super) fn auth(session: &mut Session<'_>, args: &[&[u8]], reply: &mut Reply<'_>) {
    let answer = match args {
        [password] if session.needs_no_password() && !password.starts_with(TOKEN_START) => Err(NONE_SET),
        [password] => sign_in(session, USER, password),
        [user, password] => sign_in(session, user, password),
        _ => Err("ERR syntax error"),
    };
    match answer {
        Ok(()) => reply.simple("OK"),
        Err(error) => reply.error(error),
    }
}

/// Whether this user may ask from now on, or what is wrong. The password is a token or the port's password.
pub(super) fn sign_in(session: &mut Session<'_>, user: &[u8], password: &[u8]) -> Result<(), &'static str> {
    let service = session.service;
    let now = service.engine.now();
    if let Ok(grant) = access::find(&service.engine, password, now)
        && (user == USER || user == grant.actor().as_bytes())
    {
        session.auth = Auth::Done(grant);
        return Ok(());
    }
    if service.password.as_ref().is_some_and(|expected| expected.is(password)) && user == USER {
        session.auth = Auth::Done(service.access.with_password());
        return Ok(());
    }
    if let Some(open) = service.access.without_token().filter(|_| service.password.is_none())
        && user == USER
        && !password.starts_with(TOKEN_START)
    {
        // The port needs no credential: clients that always sign in may use any password.
        session.auth = Auth::Done(open);
        return Ok(());
    }
    session.refused = true;
    Err(WRONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_password_itself_is_the_password() {
        let password = Password::new("correct-horse");
        assert!(password.is(b"correct-horse"));
        for guess in [&b""[..], b"correct-hors", b"correct-horse\0", b"Correct-horse"] {
            assert!(!password.is(guess), "{guess:?}");
        }
        assert_eq!(format!("{password:?}"), "Password(***)");
    }
}
