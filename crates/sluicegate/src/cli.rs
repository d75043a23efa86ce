//! The command line: every command, argument and help text.

mod account;
mod admin;
mod audit;
mod block;
mod check;
mod client;
mod clock;
mod directory;
mod explain;
mod key;
mod token;
mod top;
mod usage;

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use sluicegate_core::policy::url::BadUrl;
use sluicegate_core::policy::{Document, HttpUrl, StoreSettings};

use crate::http_client::Endpoint;
use crate::output::Format;

pub(crate) use account::{Account, AccountCreate, AccountDelete, AccountList, AccountSetTier, AccountShow};
pub(crate) use admin::{Admin, ListPart, Sure};
pub(crate) use audit::{Audit, AuditVerify};
pub(crate) use block::{Block, BlockAdd, BlockList, BlockRemove};
pub(crate) use check::Check;
pub(crate) use client::{Client, ClientReset, ClientShow};
pub(crate) use clock::Clock;
pub(crate) use directory::{Directory, DirectoryAdopt};
pub(crate) use explain::Explain;
pub(crate) use key::{Key, KeyCreate, KeyList, KeyRestrictions, KeyRevoke, KeyRotate, KeyShow, KeyUpdate};
pub(crate) use token::{Token, TokenCreate, TokenRevoke};
pub(crate) use top::Top;
pub(crate) use usage::{Against, ExportFormat, Period, Usage, UsageExport, UsageReconcile, UsageShow};

/// An exact gatekeeper for APIs sold in plans: rate, quota and concurrency in one decision, recorded for the bill.
#[derive(Parser, Debug)]
#[command(name = "sluicegate", version, disable_help_subcommand = true)]
#[command(after_help = "\
Example:
  sluicegate serve

Exit status: 0 done, 1 failed, 2 wrong usage, 78 the configuration is invalid.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What sluicegate can be told to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run the gateway, the decision API and the admin API.
    #[command(after_help = "\
Examples:
  sluicegate serve
  sluicegate serve --config sluicegate.yaml --upstream http://127.0.0.1:9000
  sluicegate serve --gateway 127.0.0.1:0 --ready-file ready.json

Without a policy file a sample with three tiers is used, and on the first start a demo account and key for each of
them are made and shown once. Without an upstream a built-in echo answers.

Secrets come from variables or files only: SLUICEGATE_ADMIN_TOKEN and SLUICEGATE_SECRET; when missing they are made and
kept in the data directory. SLUICEGATE_SESSION_SECRET, if set, signs session cookies in place of SLUICEGATE_SECRET;
SLUICEGATE_RESP_PASSWORD, if set, is what clients of Redis have to say first.

SIGTERM: finish what is in flight, then exit 0. SIGHUP: read the policy file again.")]
    Serve(Serve),

    /// Check, explain and describe policy files.
    #[command(subcommand)]
    #[command(after_help = "\
Example:
  sluicegate config check sluicegate.yaml && sluicegate config explain sluicegate.yaml")]
    Config(Config),

    /// Make, list, show, change and delete accounts: who pays, and under which tier.
    #[command(subcommand)]
    #[command(after_help = "\
Example:
  sluicegate account create \"Acme Ltd.\" --tier pro --id acme && sluicegate account show acme")]
    Account(Account),

    /// Make, list, show, rotate and revoke the keys of accounts.
    #[command(subcommand)]
    #[command(after_help = "\
Example:
  sluicegate key create acme --name production")]
    Key(Key),

    /// Create, list and revoke the named tokens of people and programs.
    #[command(
        subcommand,
        after_help = "\
Example:
  sluicegate token create prometheus --role metrics"
    )]
    Token(Token),

    /// Take over the store of accounts and keys as a whole.
    #[command(subcommand)]
    #[command(after_help = "\
Example:
  sluicegate directory adopt")]
    Directory(Directory),

    /// Block callers, list who is blocked, and lift blocks.
    #[command(subcommand)]
    #[command(after_help = "\
Example:
  sluicegate block add cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0 --for 24h && sluicegate block list")]
    Block(Block),

    /// Show and reset what is held against callers without a key.
    #[command(subcommand)]
    #[command(after_help = "\
Example:
  sluicegate client show cl_0f1e2d3c4b5a69788796a5b4c3d2e1f0")]
    Client(Client),

    /// Confirm a clock that leapt ahead and is not followed.
    #[command(subcommand)]
    #[command(after_help = "\
Example:
  sluicegate clock confirm --yes")]
    Clock(Clock),

    /// Show what was used, export it, and find out whether everybody agrees on it.
    #[command(subcommand)]
    #[command(after_help = "\
Example:
  sluicegate usage show acme --from 7d && sluicegate usage reconcile")]
    Usage(Usage),

    /// Prove that what was recorded is still what is there.
    #[command(subcommand)]
    #[command(after_help = "\
Example:
  sluicegate audit verify")]
    Audit(Audit),

    /// Ask a running server whether a request would be admitted, and charge it unless told otherwise.
    #[command(after_help = "\
Examples:
  read -rs SLUICEGATE_KEY && export SLUICEGATE_KEY
  sluicegate check --path /api/search --cost 5
  sluicegate check --peek --json | jq .limits

A place that the request takes among those in flight is given back at once.

Exit status: 0 admitted, 1 denied or failed, 2 wrong usage.")]
    Check(Check),

    /// Say why a request was refused: who called, under which policy, and what every limit said.
    #[command(after_help = "\
Examples:
  sluicegate explain dec_01m45yyrg00000000700000001
  sluicegate explain dec_01m45yyrg00000000700000001 --json | jq .limits

The id is in the header X-Sluicegate-Decision and in the body of every denial. It is known for an hour, to the server
that decided.")]
    Explain(Explain),

    /// Watch a running server live: what it admits and refuses, why, and who calls most.
    #[command(after_help = "\
Examples:
  sluicegate top
  sluicegate top --json | jq .top.items

Keys: q quits, r orders callers by refusals or by requests, p pauses.")]
    Top(Top),

    /// Tell whether a running server takes requests, for health checks.
    #[command(after_help = "\
Example:
  sluicegate ready && echo ready

No token is needed. Exit status: 0 ready, 1 not ready, 2 wrong usage.")]
    Ready(Ready),

    /// Print a script with which a shell completes commands and options.
    #[command(after_help = "\
Examples:
  sluicegate completions bash > ~/.local/share/bash-completion/completions/sluicegate
  sluicegate completions zsh > \"${fpath[1]}/_sluicegate\"
  sluicegate completions fish > ~/.config/fish/completions/sluicegate.fish")]
    Completions(Completions),
}

/// Which server.
#[derive(Args, Debug)]
pub(crate) struct Ready {
    /// Where the admin API is.
    #[arg(long, value_name = "URL", env = "SLUICEGATE_ADMIN_URL", default_value = "http://127.0.0.1:9090")]
    pub(crate) admin_url: Endpoint,
}

/// Which shell.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// How a server is run.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// The policy file, which is watched and reloaded.
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Where accounts, keys and usage are kept.
    #[arg(long, value_name = "DIR", env = "SLUICEGATE_DATA_DIR", default_value = DATA_DIR_DEFAULT)]
    pub(crate) data_dir: PathBuf,

    /// Where meters live: `embedded`, or the URL of a Redis.
    #[arg(long, value_name = "URL", env = "SLUICEGATE_STORE", value_parser = store)]
    store: Option<StoreSettings>,

    /// Where admitted requests are forwarded.
    #[arg(long, value_name = "URL", env = "SLUICEGATE_UPSTREAM", value_parser = upstream)]
    upstream: Option<HttpUrl>,

    /// Where callers connect [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR", env = "SLUICEGATE_GATEWAY")]
    gateway: Option<SocketAddr>,

    /// Where decisions are asked for [default: 127.0.0.1:8081].
    #[arg(long, value_name = "ADDR", env = "SLUICEGATE_DECISION")]
    decision: Option<SocketAddr>,

    /// Where the admin API is [default: 127.0.0.1:9090].
    #[arg(long, value_name = "ADDR", env = "SLUICEGATE_ADMIN")]
    admin: Option<SocketAddr>,

    /// Where clients of Redis ask, such as 127.0.0.1:6380 [default: nowhere].
    #[arg(long, value_name = "ADDR", env = "SLUICEGATE_RESP")]
    resp: Option<SocketAddr>,

    /// A file that is told the addresses once every listener accepts.
    #[arg(long, value_name = "FILE", env = "SLUICEGATE_READY_FILE")]
    pub(crate) ready_file: Option<PathBuf>,

    /// Who collects traces: spans go to /v1/traces there, as OTLP in JSON. Absent: nobody.
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_parser = upstream)]
    pub(crate) otlp_endpoint: Option<HttpUrl>,

    /// Of requests that are not part of a caller's trace, one in so many begins one.
    #[arg(long, value_name = "N", env = "SLUICEGATE_TRACE_ONE_IN", default_value = "1")]
    pub(crate) trace_one_in: NonZeroU64,

    /// What is sent along with traces, as `name=value,name=value`: from a variable only, since it may be a secret.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_HEADERS", hide = true, hide_env_values = true)]
    pub(crate) otlp_headers: Option<String>,

    /// What this service is called in traces.
    #[arg(long, env = "OTEL_SERVICE_NAME", hide = true, default_value = "sluicegate")]
    pub(crate) otlp_service: String,

    /// What is logged: `error`, `warn`, `info`, `debug`, or a filter such as `info,sluicegate_server=debug`.
    #[arg(long, value_name = "FILTER", env = "SLUICEGATE_LOG")]
    pub(crate) log: Option<String>,

    /// How it is logged: for people, or one JSON object a line for programs.
    #[arg(long, value_name = "FORMAT", env = "SLUICEGATE_LOG_FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// How logs are written: for people, or one JSON object a line for programs.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum, Debug)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Beside where the server is started.
const DATA_DIR_DEFAULT: &str = "./sluicegate-data";

impl Serve {
    /// What was said on the command line stands over what the file says.
    pub(crate) fn override_settings(&self, document: &mut Document) {
        let server = &mut document.server;
        server.gateway = self.gateway.unwrap_or(server.gateway);
        server.decision = self.decision.unwrap_or(server.decision);
        server.admin = self.admin.unwrap_or(server.admin);
        server.resp = self.resp.or(server.resp);
        if let Some(upstream) = &self.upstream {
            server.upstream = Some(upstream.clone());
        }
        if let Some(store) = &self.store {
            document.store = store.clone();
        }
    }
}

fn upstream(text: &str) -> Result<HttpUrl, String> {
    let url = HttpUrl::parse(text).ok().filter(HttpUrl::is_upstream);
    url.ok_or_else(|| "expected a URL such as http://127.0.0.1:9000 or http://127.0.0.1:9000/v1".to_owned())
}

fn store(text: &str) -> Result<StoreSettings, String> {
    StoreSettings::parse(text).map_err(|bad| match bad {
        BadUrl::Password => "put the password into the variable SLUICEGATE_REDIS_PASSWORD".to_owned(),
        _ => "expected `embedded` or a URL such as redis://127.0.0.1:6379".to_owned(),
    })
}

/// What can be done with policy files.
#[derive(Subcommand, Debug)]
pub(crate) enum Config {
    /// Report every problem of a policy file at once: where it stands, and what to write instead.
    #[command(after_help = "\
Examples:
  sluicegate config check sluicegate.yaml
  sluicegate config check --json sluicegate.yaml
  generate-policy | sluicegate config check -

Exit status: 0 the file is valid, 1 it cannot be read, 78 it is invalid.")]
    Check(ConfigFile),

    /// Show the tiers of a policy file as tables of limits, each with what it admits in the worst case.
    #[command(after_help = "\
Examples:
  sluicegate config explain sluicegate.yaml
  sluicegate config explain --json sluicegate.yaml

Exit status: 0 explained, 1 the file cannot be read, 78 it is invalid.")]
    Explain(ConfigFile),

    /// Print the JSON Schema of policy files, for editors.
    #[command(after_help = "\
Example:
  sluicegate config schema > sluicegate.schema.json

Editors that use the YAML language server then check a policy file that starts with
  # yaml-language-server: $schema=sluicegate.schema.json")]
    Schema,
}

/// The policy file a command is about.
#[derive(Args, Debug)]
pub(crate) struct ConfigFile {
    /// The policy file; `-` reads standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl ConfigFile {
    /// How the answer is to be printed.
    pub(crate) fn format(&self) -> Format {
        Format::of_json(self.json)
    }
}
