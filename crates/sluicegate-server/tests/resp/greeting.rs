//! What clients say when they connect.

use crate::place::{PLAIN, Place, Setup};

#[test]
fn whoever_connects_is_answered_as_redis_answers() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    for (command, answer) in [
        ("PING", "+PONG\r\n"),
        ("ping hi", "$2\r\nhi\r\n"),
        ("ECHO hi", "$2\r\nhi\r\n"),
        ("SELECT 0", "+OK\r\n"),
        ("SELECT 1", "-ERR DB index is out of range\r\n"),
        ("SELECT a", "-ERR value is not an integer or out of range\r\n"),
        ("CLIENT SETINFO LIB-NAME test", "+OK\r\n"),
        ("CLIENT GETNAME", "$-1\r\n"),
        ("CLIENT SETNAME me", "+OK\r\n"),
        ("CLIENT GETNAME", "$2\r\nme\r\n"),
        ("CLIENT ID", ":1\r\n"),
        ("CLIENT SETNAME", "-ERR wrong number of arguments for 'client|setname' command\r\n"),
        ("CLIENT TRACKING ON", "-ERR unknown subcommand 'TRACKING'. Try CLIENT HELP.\r\n"),
        ("COMMAND COUNT", ":14\r\n"),
        ("COMMAND DOCS", "*0\r\n"),
        (
            "COMMAND INFO cl.throttle get",
            "*2\r\n*6\r\n$11\r\ncl.throttle\r\n:-1\r\n*1\r\n+write\r\n:1\r\n:1\r\n:1\r\n$-1\r\n",
        ),
        ("COMMAND FOO", "-ERR unknown subcommand 'FOO'. Try COMMAND HELP.\r\n"),
        ("PING a b", "-ERR wrong number of arguments for 'ping' command\r\n"),
        ("ECHO", "-ERR wrong number of arguments for 'echo' command\r\n"),
        ("FOO", "-ERR unknown command 'FOO', with args beginning with: \r\n"),
        ("GET a b", "-ERR unknown command 'GET', with args beginning with: 'a' 'b' \r\n"),
        ("RESET", "+RESET\r\n"),
        ("CLIENT GETNAME", "$-1\r\n"),
        (
            "AUTH secret",
            "-ERR AUTH <password> called without any password configured for the default user. Are you sure your \
             configuration is correct?\r\n",
        ),
        ("AUTH default any", "+OK\r\n"),
        ("AUTH other any", "-WRONGPASS invalid username-password pair or user is disabled.\r\n"),
    ] {
        assert_eq!(client.ask(command), answer, "{command}");
    }
    let info = client.ask("INFO server");
    assert!(
        info.contains("\r\nredis_version:7.4.0\r\n") && info.contains("\r\nsluicegate_mode:normal\r\n"),
        "{info}"
    );
    assert!(client.ask("COMMAND").starts_with("*14\r\n*6\r\n$11\r\ncl.throttle\r\n"));
}

#[test]
fn what_is_shown_of_an_unknown_command_has_an_end() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    let answer = client.ask(&format!("{} {} {}", "F".repeat(500), "a".repeat(100), "b".repeat(500)));
    let (name, first, second) = ("F".repeat(128), "a".repeat(100), "b".repeat(25));
    assert_eq!(
        answer,
        format!("-ERR unknown command '{name}', with args beginning with: '{first}' '{second}' \r\n")
    );
    let lines = crate::place::wire_of(&[b"a\r\n+OK\r\n\0"]);
    assert_eq!(client.ask_bytes(&lines), "-ERR unknown command 'a  +OK   ', with args beginning with: \r\n");
}

#[test]
fn hello_chooses_the_form_of_the_answers() {
    let place = Place::start(PLAIN);
    let mut client = place.client();
    let two = client.ask("HELLO 2");
    assert!(two.starts_with("*14\r\n$6\r\nserver\r\n$10\r\nsluicegate\r\n$7\r\nversion\r\n"), "{two}");
    assert!(
        two.contains("$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n"),
        "{two}"
    );
    let three = client.ask("HELLO 3 SETNAME me");
    assert!(three.starts_with("%7\r\n") && three.contains("$5\r\nproto\r\n:3\r\n"), "{three}");
    assert!(three.ends_with("$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"), "{three}");
    assert!(client.ask("HELLO").starts_with("%7\r\n"));
    assert_eq!(client.ask("CLIENT GETNAME"), "$2\r\nme\r\n");
    assert_eq!(client.ask("COMMAND INFO get"), "*1\r\n_\r\n");
    assert_eq!(client.ask("CL.THROTTLE k 4 1 1"), "*5\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:1\r\n");
    assert!(client.ask("INFO").starts_with('='));
    for (command, error) in [
        ("HELLO 4", "-NOPROTO unsupported protocol version\r\n"),
        ("HELLO x", "-ERR Protocol version is not an integer or out of range\r\n"),
        ("HELLO 2 FOO", "-ERR Syntax error in HELLO option 'FOO'\r\n"),
        ("HELLO 2 AUTH default", "-ERR Syntax error in HELLO option 'AUTH'\r\n"),
        ("HELLO 2 AUTH other x", "-WRONGPASS invalid username-password pair or user is disabled.\r\n"),
    ] {
        assert_eq!(client.ask(command), error, "{command}");
    }
    assert!(client.ask("HELLO").starts_with("%7\r\n"), "what was wrong has changed nothing");
    assert_eq!(client.ask("RESET"), "+RESET\r\n");
    assert!(client.ask("HELLO").starts_with("*14\r\n"));
}

#[test]
fn with_a_password_nothing_is_answered_before_it() {
    let place = Setup { password: Some("correct-horse"), ..Setup::default() }.start();
    let mut client = place.client();
    let end = "the-end";
    let mut ask = |command: &str| {
        // The end of answers is an unknown command: that is answered in any case.
        let unknown = format!("-ERR unknown command '{end}', with args beginning with: \r\n");
        client.send(&[crate::place::wire(command), crate::place::wire(end)].concat());
        let heard = client.hear_until(|heard| heard.ends_with(unknown.as_bytes()));
        String::from_utf8(heard).unwrap().strip_suffix(&unknown).unwrap().to_owned()
    };
    let refused = "-NOAUTH Authentication required.\r\n";
    for command in [
        "PING",
        "ECHO a",
        "CL.THROTTLE k 1 1 1",
        "SLUICEGATE.CHECK",
        "SLUICEGATE.FINISH p",
        "INFO",
        "COMMAND",
    ] {
        assert_eq!(ask(command), refused, "{command}");
    }
    assert!(ask("HELLO 3").starts_with("-NOAUTH HELLO must be called with the client already authenticated"));
    for guess in
        ["AUTH wrong", "AUTH default wrong", "AUTH other correct-horse", "HELLO 3 AUTH default wrong"]
    {
        assert_eq!(
            ask(guess),
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
            "{guess}"
        );
        assert_eq!(ask("PING"), refused, "{guess}");
    }
    assert_eq!(ask("AUTH correct-horse"), "+OK\r\n");
    assert_eq!(ask("PING"), "+PONG\r\n");
    assert_eq!(ask("RESET"), "+RESET\r\n");
    assert_eq!(ask("PING"), refused);
    assert!(ask("HELLO 3 AUTH default correct-horse").starts_with("%7\r\n"));
    assert_eq!(ask("PING"), "+PONG\r\n");
}
