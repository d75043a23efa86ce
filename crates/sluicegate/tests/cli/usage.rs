//! Usage at the terminal: every command of its page, and what a difference looks like.

use serde_json::{Value, json};

use crate::server::Server;
use crate::transcript::Transcript;

const PAGE: &str = include_str!("../../../../docs/usage.md");

const PLANS: &str = "\
tiers:
  team: {rate: 10_000, burst: 20_000, quota: 1_000_000}
";

/// A server whose hours go to a folder beside it, with 5 units of usage of the account acme.
fn server() -> Server {
    let server = Server::start_in(|folder| {
        format!("{PLANS}ledger: {{export: \"file://{}/export\"}}\n", folder.display())
    });
    let mut story = Transcript::new(&server);
    assert_eq!(story.run(&["account", "create", "Acme", "--tier", "team", "--id", "acme"]).status, 0);
    let made = story.json(&["key", "create", "acme", "--name", "production"]);
    let key = made["key"].as_str().unwrap().to_owned();
    assert_eq!(story.run(&["check", "--key", &key, "--cost", "5"]).status, 0);
    server
}

/// Runs a command in the folder of the server.
fn run(story: &mut Transcript<'_>, server: &Server, args: &[&str]) -> crate::run::Ended {
    let folder = server.folder().to_owned();
    story.run_with(args, |command| {
        command.current_dir(folder);
    })
}

#[test]
fn every_command_of_the_page_does_what_it_says() {
    let server = server();
    std::fs::write(server.folder().join("november-bill.csv"), "account,total\nacme,5\n").unwrap();
    let mut story = Transcript::new(&server);
    let commands = PAGE.lines().filter_map(|line| line.strip_prefix("$ sluicegate "));
    let mut count = 0;
    for line in commands {
        let args: Vec<&str> = line.split(' ').collect();
        let ended = run(&mut story, &server, &args);
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{line}\n{}", ended.stdout);
        count += 1;
    }
    assert_eq!(count, 14);
    let written = std::fs::read_to_string(server.folder().join("november.csv")).unwrap();
    assert!(written.lines().nth(1).is_some_and(|row| row.contains(",acme,")), "{written}");
    let parquet = std::fs::read(server.folder().join("usage.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

#[test]
fn usage_is_drawn_and_a_bill_that_differs_fails() {
    let server = server();
    let mut story = Transcript::new(&server);
    let shown = run(&mut story, &server, &["usage", "show", "acme"]);
    assert!(shown.stdout.contains("████"), "{}", shown.stdout);
    let nothing = run(&mut story, &server, &["usage", "show", "--to", "2026-01-01"]);
    assert!(nothing.stdout.starts_with("Nothing was used"), "{}", nothing.stdout);

    std::fs::write(server.folder().join("bill.csv"), "account,total\nacme,6\n").unwrap();
    let differs = run(&mut story, &server, &["usage", "reconcile", "--bill", "bill.csv"]);
    assert_eq!(differs.status, 1, "{}", differs.stdout);
    assert!(differs.stdout.contains("1 differ, by 1 units of 1 accounts"), "{}", differs.stdout);
    let answer = run(&mut story, &server, &["usage", "reconcile", "--bill", "bill.csv", "--json"]);
    let answer: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(answer["drift"], json!({"accounts": 1, "units": 1}));
    std::fs::write(server.folder().join("bill.csv"), "who,what\n").unwrap();
    let broken = run(&mut story, &server, &["usage", "reconcile", "--bill", "bill.csv"]);
    assert_eq!(broken.status, 1);
    assert!(broken.stderr.contains("cannot be read"), "{}", broken.stderr);
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn an_export_that_fails_leaves_no_file() {
    let server = server();
    let mut story = Transcript::new(&server);
    let args = ["usage", "export", "--account", "nobody", "--out", "usage.csv"];
    let ended = run(&mut story, &server, &args);
    assert_eq!(ended.status, 1, "{}", ended.stdout);
    assert!(!server.folder().join("usage.csv").exists());
    assert!(!server.folder().join("usage.csv.unfinished").exists());
}
