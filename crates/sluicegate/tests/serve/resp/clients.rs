//! Clients that others wrote.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use redis::{FromRedisValue, Value};
use sluicegate_testkit::python;
use sluicegate_testkit::redis::{Client as RedisClient, Engine, RedisServer};

use super::POLICY;
use super::bed::{client, with_resp};
use crate::bed::Bed;

fn redis_cli(bed: &Bed, words: &[&str]) -> String {
    let port = bed.server.resp().port().to_string();
    let output =
        Command::new("redis-cli").args(["-h", "127.0.0.1", "-p", &port]).args(words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn redis_cli_asks_in_both_forms() {
    let bed = Bed::start_with(POLICY, with_resp);
    let key = bed.customer("acme", "quick");
    let throttle = ["CL.THROTTLE", "user123", "15", "30", "60", "1"];
    assert_eq!(redis_cli(&bed, &throttle), "0\n16\n15\n-1\n2\n");
    assert_eq!(redis_cli(&bed, &["CL.THROTTLE", "user123", "15", "30", "60", "99"]), "1\n16\n15\n-1\n2\n");
    let check = ["SLUICEGATE.CHECK", "KEY", &key, "PATH", "/reports"];
    let two = redis_cli(&bed, &check);
    assert!(two.starts_with("allowed\n1\nstatus\n200\nerror\n\ndecision_id\ndec_"), "{two}");
    let three = redis_cli(&bed, &[&["-3", "--no-raw"][..], &check].concat());
    assert!(three.trim_start().starts_with("1# \"allowed\" => (true)\n"), "{three}");
    let refused = redis_cli(&bed, &check);
    assert!(refused.starts_with("allowed\n0\nstatus\n429\nerror\nrate_limited\n"), "{refused}");
    assert_eq!(
        redis_cli(&bed, &["GET", "a"]),
        "ERR unknown command 'GET', with args beginning with: 'a' \n\n"
    );
}

/// With nothing but its standard input, as people use it.
#[test]
fn redis_cli_asks_many_at_once() {
    let bed = Bed::start_with(POLICY, with_resp);
    let folder = bed.folder.path();
    let script = folder.join("commands.txt");
    std::fs::write(&script, "CL.THROTTLE k 2 1 60\n".repeat(4)).unwrap();
    let port = bed.server.resp().port().to_string();
    let input = std::fs::File::open(&script).unwrap();
    let mut program = Command::new("redis-cli");
    let output = program.args(["-h", "127.0.0.1", "-p", &port]).stdin(input).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, "0\n3\n2\n-1\n60\n0\n3\n1\n-1\n120\n0\n3\n0\n-1\n180\n1\n3\n0\n60\n180\n");
    let mut piped = Command::new("redis-cli");
    let input = std::fs::File::open(&script).unwrap();
    let output = piped.args(["-h", "127.0.0.1", "-p", &port, "--pipe"]).stdin(input).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("errors: 0, replies: 4"), "{printed}");
}

/// Whatever clients say when they connect, right or wrong, is answered as Redis answers it.
#[test]
fn a_redis_says_the_same() {
    let bed = Bed::start_with(POLICY, with_resp);
    let redis = RedisServer::new(Engine::Redis);
    let mut there = RedisClient::connect(redis.address(), Duration::from_secs(20)).unwrap();
    let mut here = client(&bed);
    for command in [
        "PING",
        "PING hi",
        "PING a b",
        "ECHO hi",
        "ECHO",
        "SELECT 0",
        "SELECT a",
        "SELECT 99",
        "CLIENT GETNAME",
        "CLIENT SETNAME me",
        "CLIENT GETNAME",
        "CLIENT SETNAME",
        "CLIENT FOO",
        "COMMAND FOO",
        "HELLO x",
        "HELLO 4",
        "HELLO 2 FOO",
        "HELLO 2 AUTH other x",
        "AUTH x",
        "AUTH default x",
        "AUTH other x",
        "AUTH a b c",
        "FOO",
        "FOO a bb ccc",
        "RESET",
        "CLIENT GETNAME",
        "QUIT",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        assert_eq!(here.ask(&words).unwrap(), there.ask(&words).unwrap(), "{command}");
    }
}

#[test]
fn the_client_of_rust_asks_in_both_forms_and_in_pipelines() {
    let bed = Bed::start_with(POLICY, with_resp);
    for protocol in ["resp2", "resp3"] {
        let url = format!("redis://{}/?protocol={protocol}", bed.server.resp());
        let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
        let mut pipe = redis::pipe();
        for _ in 0..3 {
            pipe.cmd("CL.THROTTLE").arg(protocol).arg(1).arg(1).arg(60);
        }
        let answers: Vec<[i64; 5]> = pipe.query(&mut connection).unwrap();
        assert_eq!(answers, [[0, 2, 1, -1, 60], [0, 2, 0, -1, 120], [1, 2, 0, 60, 120]]);
        let answer: Value = redis::cmd("SLUICEGATE.CHECK").query(&mut connection).unwrap();
        let pairs = Vec::<(String, Value)>::from_redis_value(answer).unwrap();
        let status = pairs.iter().find(|(name, _)| name == "status").unwrap();
        assert_eq!(status.1, Value::Int(401));
    }
}

#[test]
fn the_client_of_python_asks_in_both_forms_and_in_pipelines() {
    let bed = Bed::start_with(POLICY, with_resp);
    let key = bed.customer("acme", "quick");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/resp/ask.py");
    let said = python::run(&script, &[bed.server.resp().port().to_string(), key]);
    for protocol in ["2", "3"] {
        let said = &said[protocol];
        assert_eq!(said["throttle"], serde_json::json!([0, 16, 15, -1, 2]), "{said}");
        assert_eq!(said["pipeline"], serde_json::json!([0, 0, 1]), "{said}");
        assert_eq!(said["ping"], true, "{said}");
        assert!(said["error"].as_str().unwrap().contains("Zero rates are not supported"), "{said}");
    }
    assert_eq!((&said["2"]["status"], &said["3"]["status"]), (&200.into(), &200.into()), "{said}");
    assert_eq!((&said["2"]["allowed"], &said["3"]["allowed"]), (&1.into(), &true.into()), "{said}");
    assert_eq!(said["3"]["limits"][0][0], "rate", "{said}");
}
