//! The admin API of a running server, as the commands use it.

mod list;
mod token;

use anyhow::Context as _;
use http::Method;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cli::Admin;
use crate::exit::Exit;
use crate::http_client::{Content, Download, Patience};
use crate::output::{self, Format};
use crate::service::{Refusal, Service};

pub(crate) use list::Part;
use token::Token;

/// The admin API, and the right to use it.
pub(crate) struct AdminClient {
    service: Service,
    token: Token,
    format: Format,
}

impl AdminClient {
    /// Looks up what the calls need. Nothing is sent yet.
    pub(crate) fn open(args: &Admin) -> anyhow::Result<Self> {
        Ok(Self {
            service: Service::new(args.admin_url.clone(), "--admin-url"),
            token: Token::find(&args.data_dir)?,
            format: args.format(),
        })
    }

    /// How the answer is to be printed.
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(Method::GET, path, Content::Nothing, Patience::Usual)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(Method::POST, path, Content::Json(body), Patience::Usual)
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(Method::PUT, path, Content::Json(body), Patience::Usual)
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(Method::PATCH, path, Content::Json(body), Patience::Usual)
    }

    pub(crate) fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(Method::DELETE, path, Content::Nothing, Patience::Usual)
    }

    /// Sends something that the server has much to read for.
    pub(crate) fn post_long(&self, path: &str, body: Content<'_>) -> anyhow::Result<Value> {
        self.ask(Method::POST, path, body, Patience::Long)
    }

    /// Fetches a file, piece by piece.
    pub(crate) fn download(
        &self,
        path: &str,
        each: impl FnMut(Download<'_>) -> std::io::Result<()>,
    ) -> anyhow::Result<()> {
        self.with_hint(self.service.download(path, Some(self.token.header()), each))
    }

    fn ask(
        &self,
        method: Method,
        path: &str,
        body: Content<'_>,
        patience: Patience,
    ) -> anyhow::Result<Value> {
        self.with_hint(self.service.ask(method, path, Some(self.token.header()), body, patience))
    }

    /// A token that is refused came from somewhere.
    fn with_hint<T>(&self, answer: anyhow::Result<T>) -> anyhow::Result<T> {
        answer.map_err(|error| match error.downcast::<Refusal>() {
            Ok(refusal) if refusal.status() == 401 => refusal.hint(self.token.origin()).into(),
            Ok(refusal) => refusal.into(),
            Err(error) => error,
        })
    }

    /// How the command ends. Who asked for JSON gets what the server answered, also where that is a refusal.
    pub(crate) fn conclude(&self, done: anyhow::Result<()>) -> anyhow::Result<Exit> {
        let error = match done {
            Ok(()) => return Ok(Exit::Done),
            Err(error) => error,
        };
        match error.downcast_ref::<Refusal>() {
            Some(refusal) if self.format == Format::Json => {
                output::print_json(refusal.document())?;
                Ok(Exit::Failed)
            }
            _ => Err(error),
        }
    }
}

/// What the server said, as something of ours.
pub(crate) fn read<T: DeserializeOwned>(answer: Value) -> anyhow::Result<T> {
    serde_json::from_value(answer).context("the answer is not understood: is the server of another version?")
}

/// Something that a caller typed, as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn what_is_typed_never_leaves_its_segment() {
        assert_eq!(segment("acme-1.eu_x"), "acme-1.eu_x");
        assert_eq!(segment("a/b?c#d e%ü"), "a%2Fb%3Fc%23d%20e%25%C3%BC");
    }
}
