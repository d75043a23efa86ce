//! Everything that can be in the way: a person is told what to do about it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::golden;
use crate::server::Server;
use crate::stub::Stub;
use crate::transcript::Transcript;

const POLICY: &str = "tiers: {free: {rate: 10}, pro: {rate: 100}}\n";

#[test]
fn whatever_is_in_the_way_is_said_with_what_to_do() {
    let server = Server::start(POLICY);
    let mut session = Transcript::new(&server);
    nobody_there(&mut session);
    no_token(&mut session, &server);
    the_server_says_no(&mut session);
    nobody_to_ask(&mut session);
    golden::check("refusals.txt", &session.text());
}

fn nobody_there(session: &mut Transcript<'_>) {
    // A port on which nobody listens: it is the system's, and out of use.
    let url = "http://127.0.0.1:1";
    session.call(url, "http://NOBODY");
    for args in [
        &["account", "list", "--admin-url", url][..],
        &["key", "list", "acme", "--admin-url", url],
        &["check", "--key", "sg_x", "--decision-url", url],
        &["ready", "--admin-url", url],
    ] {
        assert_eq!(session.run(args).status, 1, "{args:?}");
    }
    let other =
        Stub::answering(&["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<html", "SSH-2.0-OpenSSH\r\n\r\n"]);
    session.call(other.url(), "http://OTHER");
    for _ in 0..2 {
        let url = other.url().to_owned();
        assert_eq!(session.run(&["account", "list", "--admin-url", &url]).status, 1);
    }
}

fn no_token(session: &mut Transcript<'_>, server: &Server) {
    let list = ["account", "list"];
    let elsewhere = server.folder().join("elsewhere");
    assert_eq!(
        session
            .run_with(&list, |it| {
                it.env("SLUICEGATE_DATA_DIR", &elsewhere);
            })
            .status,
        1
    );
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("admin-token"), "\n").unwrap();
    assert_eq!(
        session
            .run_with(&list, |it| {
                it.env("SLUICEGATE_DATA_DIR", &elsewhere);
            })
            .status,
        1
    );
    fs::write(elsewhere.join("admin-token"), "of-another-server\n").unwrap();
    assert_eq!(
        session
            .run_with(&list, |it| {
                it.env("SLUICEGATE_DATA_DIR", &elsewhere);
            })
            .status,
        1
    );
    for token in ["wrong-token-of-mine", "wrong\u{1}token"] {
        assert_eq!(
            session
                .run_with(&list, |it| {
                    it.env("SLUICEGATE_ADMIN_TOKEN", token);
                })
                .status,
            1
        );
    }
    assert!(!session.text().contains("wrong-token-of-mine"), "a token is never repeated");
}

fn the_server_says_no(session: &mut Transcript<'_>) {
    assert_eq!(session.run(&["account", "create", "Acme", "--tier", "pro", "--id", "acme"]).status, 0);
    for args in [
        &["account", "create", "Acme", "--tier", "pro", "--id", "acme"][..],
        &["account", "create", "Acme", "--tier", "por"],
        &["account", "create", "Acme", "--tier", "pro", "--timezone", "Mars"],
        &["account", "create", "Acme", "--tier", "pro", "--id", "a/b"],
        &["account", "show", "nobody"],
        &["account", "show", "../keys/x?y"],
        &["account", "set-tier", "acme", "gold"],
        &["account", "set-tier", "nobody", "pro"],
        &["account", "delete", "nobody", "--yes"],
        &["account", "list", "--cursor", "nonsense"],
        &["key", "create", "nobody", "--name", "x"],
        &["key", "create", "acme", "--name", "x", "--expires-at", "tomorrow"],
        &["key", "create", "acme", "--name", "x", "--scope", "a b"],
        &["key", "list", "nobody"],
        &["key", "show", "nonsense"],
        &["key", "rotate", "000000000000", "--overlap", "2h"],
        &["key", "revoke", "000000000000", "--yes"],
        &["check", "--key", "sg_live_junk"],
        &["check", "--key", "sg_live_junk", "--path", "x"],
        &["check", "--key", "sg_live_junk", "--method", "G T"],
    ] {
        assert_eq!(session.run(args).status, 1, "{args:?}");
    }
}

fn nobody_to_ask(session: &mut Transcript<'_>) {
    for args in [&["account", "delete", "acme"][..], &["key", "revoke", "000000000000"], &["check"]] {
        assert_eq!(session.run(args).status, 2, "{args:?}");
    }
    assert_eq!(session.run(&["account", "set-tier", "acme", "free"]).status, 0, "it is still there");
}

#[test]
fn a_token_that_may_not_be_read_is_said_to_be_the_servers() {
    let folder = tempfile::tempdir().unwrap();
    // Not even root can read a folder as a file.
    fs::create_dir(folder.path().join("admin-token")).unwrap();
    fs::set_permissions(folder.path().join("admin-token"), fs::Permissions::from_mode(0o700)).unwrap();
    let ended = crate::run::run(&["account", "list", "--data-dir", folder.path().to_str().unwrap()]);
    assert_eq!(ended.status, 1);
    assert!(ended.stderr.starts_with("error: cannot read the admin token in "), "{ended:?}");
    assert!(ended.stderr.contains("it is for the user who runs the server"), "{ended:?}");
}
