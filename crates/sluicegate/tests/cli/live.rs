//! What a running server says about its decisions: one by one, and live.

use std::process::Command;

use serde_json::Value;

use crate::server::Server;
use crate::transcript::Transcript;

const PLANS: &str = "\
tiers:
  slow: {rate: 1/hour, burst: 2, quota: 1_000}
";

/// A server that has admitted two requests of the account acme and refused the third, and the id of that decision.
fn server() -> (Server, String) {
    let server = Server::start(PLANS);
    let mut story = Transcript::new(&server);
    assert_eq!(story.run(&["account", "create", "Acme", "--tier", "slow", "--id", "acme"]).status, 0);
    let made = story.json(&["key", "create", "acme", "--name", "production"]);
    let key = made["key"].as_str().unwrap().to_owned();
    let ask = |story: &mut Transcript<'_>| {
        story.run(&["check", "--key", &key, "--path", "/things", "--json"]).stdout
    };
    assert!(ask(&mut story).contains("\"allowed\": true"));
    assert!(ask(&mut story).contains("\"allowed\": true"));
    let denied: Value = serde_json::from_str(&ask(&mut story)).unwrap();
    assert_eq!(denied["allowed"], false);
    let id = denied["decision_id"].as_str().unwrap().to_owned();
    (server, id)
}

#[test]
fn a_denial_is_explained_by_its_id() {
    let (server, id) = server();
    let mut story = Transcript::new(&server);
    let explained = story.run(&["explain", &id]);
    assert_eq!((explained.status, explained.stderr.as_str()), (0, ""));
    for part in
        [id.as_str(), "429 rate_limited", "account acme", "slow", "GET /things, cost 1", "refused", "quota"]
    {
        assert!(explained.stdout.contains(part), "{part} in\n{}", explained.stdout);
    }
    let json = story.json(&["explain", &id]);
    assert_eq!((json["error"].as_str(), json["account"].as_str()), (Some("rate_limited"), Some("acme")));
    let unknown = story.run(&["explain", "dec_01m45yyrg00000000700000001"]);
    assert_eq!((unknown.status, unknown.stdout.as_str()), (1, ""));
    assert!(unknown.stderr.contains("dec_01m45yyrg00000000700000001"), "{}", unknown.stderr);
}

#[test]
fn the_live_view_is_one_look_as_json_and_needs_a_terminal_otherwise() {
    let (server, _) = server();
    let mut story = Transcript::new(&server);
    let look = story.json(&["top"]);
    assert_eq!(look["overview"]["mode"], "normal");
    assert_eq!(look["overview"]["totals"]["admitted"], 2);
    assert_eq!(look["overview"]["totals"]["refused"]["rate_limited"], 1);
    let bare = story.run(&["top"]);
    assert_eq!(bare.status, 1);
    assert!(bare.stderr.contains("--json"), "{}", bare.stderr);
}

/// Draws on a terminal of its own, which changes its size, until somebody presses q.
const TERMINAL: &str = r#"
import fcntl, os, pty, select, struct, sys, termios, time

pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm-256color"
    os.execv(sys.argv[1], sys.argv[1:])

seen = b""

def size(lines, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

def until(text):
    global seen
    end = time.monotonic() + 60
    while text not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        assert ready, f"no {text!r} in {seen!r}"
        seen += os.read(terminal, 65536)

size(30, 100)
until(b"q quit")
seen = b""
size(20, 60)
until(b"q quit")
os.write(terminal, b"r")
until(b"refusals")
os.write(terminal, b"q")
# The terminal is as it was: the other screen is left.
until(b"\x1b[?1049l")
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"#;

#[test]
fn the_live_view_draws_resizes_and_leaves_the_terminal_as_it_was() {
    let (server, _) = server();
    let mut python = Command::new("python3");
    python.args(["-c", TERMINAL, env!("CARGO_BIN_EXE_sluicegate"), "top", "--admin-url", server.admin()]);
    let ended = python.arg("--data-dir").arg(server.data_dir()).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}
