//! `sluicegate key`: its verbs, arguments and help.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::admin::{Admin, ListPart, Sure};

/// What can be done with keys.
#[derive(Subcommand, Debug)]
pub(crate) enum Key {
    /// Make a key for an account, and show it this once.
    #[command(after_help = "\
Examples:
  sluicegate key create acme --name production
  sluicegate key create acme --name ci --env test --expires-at 2027-01-31T00:00:00Z
  sluicegate key create acme --name reports --scope reports:read --scope reports:write
  sluicegate key create acme --name web --allow-origin https://app.example.com
  sluicegate key create acme --name trial --limits '{\"rate\": \"5/s\", \"quota\": 1000}'
  sluicegate key create acme --name office --allow-ip 192.0.2.0/24 --allow-ip 2001:db8::/32
  sluicegate key create acme --name production --json | jq -r .key

Only a hash of the key is kept: who loses it rotates it.

Exit status: 0 made, 1 failed, 2 wrong usage.")]
    Create(KeyCreate),

    /// List the keys of an account, revoked ones included.
    #[command(after_help = "\
Examples:
  sluicegate key list acme
  sluicegate key list acme --json | jq -r '.items[] | select(.status == \"active\").id'

Exit status: 0 listed, 1 failed, 2 wrong usage.")]
    List(KeyList),

    /// Show what is known of a key. The key itself is not.
    #[command(after_help = "\
Example:
  sluicegate key show 4fVZ8pQ2mX0c
  sluicegate key show - < found.txt

The id of a key is its third part: sg_live_4fVZ8pQ2mX0c_... A whole key is taken too, best from standard input, since
others on this machine can see command lines. Only its id is sent, and it is never printed.

Exit status: 0 shown, 1 failed, 2 wrong usage.")]
    Show(KeyShow),

    /// Give a key a new secret, and show it this once. The old one lives on for a while.
    #[command(after_help = "\
Examples:
  sluicegate key rotate 4fVZ8pQ2mX0c
  sluicegate key rotate 4fVZ8pQ2mX0c --overlap 0s

Exit status: 0 rotated, 1 failed, 2 wrong usage.")]
    Rotate(KeyRotate),

    /// Change what a key is called and may be used for. Its secret stays.
    #[command(after_help = "\
Examples:
  sluicegate key update 4fVZ8pQ2mX0c --name production
  sluicegate key update 4fVZ8pQ2mX0c --limits '{\"rate\": \"5/s\"}' --allow-ip 192.0.2.0/24
  sluicegate key update 4fVZ8pQ2mX0c --limits none --allow-ip any --allow-origin any

What is not given stays as it is. A list that is given replaces the one before.

Exit status: 0 changed, 1 failed, 2 wrong usage.")]
    Update(KeyUpdate),

    /// Make a key invalid from the next request on, for good; or many that have leaked.
    #[command(after_help = "\
Examples:
  sluicegate key revoke 4fVZ8pQ2mX0c
  sluicegate key revoke 4fVZ8pQ2mX0c --yes
  sluicegate key revoke --file leaked.txt
  sluicegate key revoke --file - --yes < leaked.txt

A file has one id or one whole key in each line, at most 1,000. Whole keys are never printed: the answer names ids, and
the numbers of lines that are no key of the server.

Exit status: 0 revoked, 1 failed or not confirmed, 2 wrong usage.")]
    Revoke(KeyRevoke),
}

impl Key {
    /// Which server.
    pub(crate) fn admin(&self) -> &Admin {
        match self {
            Self::Create(args) => &args.admin,
            Self::List(args) => &args.admin,
            Self::Show(args) => &args.admin,
            Self::Rotate(args) => &args.admin,
            Self::Update(args) => &args.admin,
            Self::Revoke(args) => &args.admin,
        }
    }
}

/// A key to be made.
#[derive(Args, Debug)]
pub(crate) struct KeyCreate {
    /// The account whose key it is.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) account: String,

    /// What people call it.
    #[arg(long)]
    pub(crate) name: String,

    /// What it is for: production, or trying things out.
    #[arg(long, default_value = "live")]
    pub(crate) env: KeyEnv,

    /// What it may be used for, given once for each; `*` is everything [default: nothing that demands a scope].
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,

    /// From when on it is invalid, such as 2027-01-31T00:00:00Z [default: never].
    #[arg(long, value_name = "TIME")]
    pub(crate) expires_at: Option<String>,

    #[command(flatten)]
    pub(crate) restrictions: KeyRestrictions,

    #[command(flatten)]
    admin: Admin,
}

/// What narrows a key below its account.
#[derive(Args, Debug)]
pub(crate) struct KeyRestrictions {
    /// A network that it may be used from, such as 192.0.2.0/24, given once for each; `any` is every address.
    #[arg(long = "allow-ip", value_name = "NETWORK")]
    pub(crate) allowed_ips: Vec<String>,

    #[allow(rustdoc::bare_urls, reason = "help is shown as it is written")]
    /// The origin of a web page that it may be used from, such as https://app.example.com, given once for each; `any`
    /// is every one, and callers that are no browsers.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    pub(crate) allowed_origins: Vec<String>,

    /// Its own limits below those of its account, as JSON such as {"rate": "5/s", "quota": 1000}; `none` is none.
    #[arg(long, value_name = "JSON", value_parser = key_limits)]
    pub(crate) limits: Option<serde_json::Value>,
}

/// The limits of this text: an object, or null for none.
fn key_limits(text: &str) -> Result<serde_json::Value, String> {
    if text == "none" {
        return Ok(serde_json::Value::Null);
    }
    let limits: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if limits.is_object() { Ok(limits) } else { Err("it is no JSON object".to_owned()) }
}

/// Which key, and what of it is changed.
#[derive(Args, Debug)]
pub(crate) struct KeyUpdate {
    /// The id of the key.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    /// What people call it.
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// What it may be used for, given once for each; `*` is everything.
    #[arg(long = "scope", value_name = "SCOPE")]
    pub(crate) scopes: Vec<String>,

    /// From when on it is invalid, such as 2027-01-31T00:00:00Z; `never` is never.
    #[arg(long, value_name = "TIME")]
    pub(crate) expires_at: Option<String>,

    #[command(flatten)]
    pub(crate) restrictions: KeyRestrictions,

    #[command(flatten)]
    admin: Admin,
}

/// What a key is for: production, or trying things out.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum KeyEnv {
    Live,
    Test,
}

impl KeyEnv {
    /// As the server calls it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }
}

/// Whose keys.
#[derive(Args, Debug)]
pub(crate) struct KeyList {
    /// The account whose keys they are.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) account: String,

    #[command(flatten)]
    pub(crate) part: ListPart,

    #[command(flatten)]
    admin: Admin,
}

/// Which key.
#[derive(Args, Debug)]
pub(crate) struct KeyShow {
    /// The id of the key, or the whole key; `-` reads one of them from standard input.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    #[command(flatten)]
    admin: Admin,
}

/// Which key, and how.
#[derive(Args, Debug)]
pub(crate) struct KeyRotate {
    /// The id of the key.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: String,

    /// How long the old secret still lives, such as 30m, 24h or 7d; 0s ends it at once [default: 24h].
    #[arg(long, value_name = "DURATION")]
    pub(crate) overlap: Option<String>,

    #[command(flatten)]
    admin: Admin,
}

/// Which key, or which keys.
#[derive(Args, Debug)]
pub(crate) struct KeyRevoke {
    /// The id of the key, or the whole key.
    #[arg(value_parser = NonEmptyStringValueParser::new(), required_unless_present = "file")]
    pub(crate) id: Option<String>,

    /// A file with an id or a whole key in each line; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "id")]
    pub(crate) file: Option<std::path::PathBuf>,

    #[command(flatten)]
    pub(crate) sure: Sure,

    #[command(flatten)]
    admin: Admin,
}
