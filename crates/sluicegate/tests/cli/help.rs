//! `--help`, `--version` and wrong usage.

use crate::golden;
use crate::run::run;

/// Every command with the golden file of its help.
const COMMANDS: [(&str, &[&str]); 43] = [
    ("help.txt", &[]),
    ("help-serve.txt", &["serve"]),
    ("help-config.txt", &["config"]),
    ("help-config-check.txt", &["config", "check"]),
    ("help-config-explain.txt", &["config", "explain"]),
    ("help-config-schema.txt", &["config", "schema"]),
    ("help-account.txt", &["account"]),
    ("help-account-create.txt", &["account", "create"]),
    ("help-account-list.txt", &["account", "list"]),
    ("help-account-show.txt", &["account", "show"]),
    ("help-account-set-tier.txt", &["account", "set-tier"]),
    ("help-account-delete.txt", &["account", "delete"]),
    ("help-directory.txt", &["directory"]),
    ("help-directory-adopt.txt", &["directory", "adopt"]),
    ("help-key.txt", &["key"]),
    ("help-key-create.txt", &["key", "create"]),
    ("help-key-list.txt", &["key", "list"]),
    ("help-key-show.txt", &["key", "show"]),
    ("help-key-rotate.txt", &["key", "rotate"]),
    ("help-key-update.txt", &["key", "update"]),
    ("help-key-revoke.txt", &["key", "revoke"]),
    ("help-token.txt", &["token"]),
    ("help-token-create.txt", &["token", "create"]),
    ("help-token-list.txt", &["token", "list"]),
    ("help-token-revoke.txt", &["token", "revoke"]),
    ("help-block.txt", &["block"]),
    ("help-block-add.txt", &["block", "add"]),
    ("help-block-list.txt", &["block", "list"]),
    ("help-block-remove.txt", &["block", "remove"]),
    ("help-client.txt", &["client"]),
    ("help-client-show.txt", &["client", "show"]),
    ("help-client-reset.txt", &["client", "reset"]),
    ("help-usage.txt", &["usage"]),
    ("help-usage-show.txt", &["usage", "show"]),
    ("help-usage-export.txt", &["usage", "export"]),
    ("help-usage-reconcile.txt", &["usage", "reconcile"]),
    ("help-audit.txt", &["audit"]),
    ("help-audit-verify.txt", &["audit", "verify"]),
    ("help-check.txt", &["check"]),
    ("help-explain.txt", &["explain"]),
    ("help-top.txt", &["top"]),
    ("help-ready.txt", &["ready"]),
    ("help-completions.txt", &["completions"]),
];

#[test]
fn every_command_has_help_with_an_example() {
    for (name, command) in COMMANDS {
        let ended = run(&[command, &["--help"]].concat());
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{command:?}");
        assert!(ended.stdout.contains("Example"), "{command:?}");
        golden::check(name, &ended.stdout);
    }
}

/// The golden files of other tests.
const OTHERS: [&str; 13] = [
    "answers",
    "audit-verify.txt",
    "check-misspelt-tier-key.json",
    "check-warning.json",
    "check-warning.txt",
    "explain-full.json",
    "explain-full.txt",
    "explain-minimal.json",
    "explain-minimal.txt",
    "refusals.txt",
    "story.txt",
    "story-blocks.txt",
    "story-json.txt",
];

#[test]
fn no_golden_is_compared_with_nothing() {
    let known: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).chain(OTHERS).collect();
    for name in golden::names(&golden::tests().join("golden"), "") {
        assert!(known.contains(&name.as_str()), "golden/{name}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let ended = run(&["--version"]);
    assert_eq!(ended.stdout, concat!("sluicegate ", env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(ended.status, 0);
}

#[test]
fn wrong_usage_ends_with_2() {
    let wrong: [&[&str]; 12] = [
        &[],
        &["config"],
        &["config", "check"],
        &["config", "chekc", "x"],
        &["config", "schema", "--json"],
        &["account", "create", "Acme"],
        &["account", "create", "Acme", "--tier", "pro", "--billing-day", "32"],
        &["account", "show", ""],
        &["account", "list", "--admin-url", "127.0.0.1:9090"],
        &["key", "create", "acme", "--name", "x", "--env", "prod"],
        &["check", "--key", "a", "--service-token", "b"],
        &["completions", "dos"],
    ];
    for args in wrong {
        let ended = run(args);
        assert_eq!((ended.status, ended.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ended.stderr.contains("--help"), "{ended:?}");
    }
    assert!(run(&["config", "chekc", "x"]).stderr.contains("'check'"));
}
