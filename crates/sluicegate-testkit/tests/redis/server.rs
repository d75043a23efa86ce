//! One server alone.

use std::io::ErrorKind;
use std::panic::catch_unwind;
use std::path::Path;
use std::time::Duration;

use sluicegate_testkit::redis::{Client, Engine, RedisLaunch, RedisServer};

use crate::{client, for_both};

#[test]
fn it_answers_over_its_port_and_tells_of_itself() {
    for_both(|engine| {
        let server = RedisServer::new(engine);
        let mut client = client(server.address());
        assert_eq!(client.ask(&["SET", "key", "value"]).unwrap().text(), "OK");
        assert_eq!(server.ask(&["GET", "key"]).text(), "value");
        assert_eq!(server.ask(&["NONSENSE"]).text().split(' ').next(), Some("ERR"));
        assert_eq!(server.url(), format!("redis://{}", server.address()));
        assert_eq!(server.info("process_id"), server.pid().to_string());
        let version = match engine {
            Engine::Redis => server.info("redis_version"),
            Engine::Valkey => server.info("valkey_version"),
        };
        assert!(version.contains('.'), "{engine:?} says it is {version}");
    });
}

#[test]
fn several_run_beside_each_other() {
    let servers = [Engine::Redis, Engine::Redis, Engine::Valkey].map(RedisServer::new);
    for (index, server) in servers.iter().enumerate() {
        server.ask(&["SET", "me", &index.to_string()]);
    }
    let said = servers.iter().map(|server| server.ask(&["GET", "me"]).text());
    assert_eq!(said.collect::<Vec<_>>(), ["0", "1", "2"]);
}

#[test]
fn a_paused_server_answers_when_it_goes_on() {
    for_both(|engine| {
        let mut server = RedisServer::new(engine);
        let mut client = Client::connect(server.address(), Duration::from_millis(100)).unwrap();
        client.ask(&["PING"]).unwrap();
        for _ in 0..2 {
            server.pause();
            assert!(!server.is_running());
            assert_eq!(client.ask(&["INCR", "n"]).unwrap_err().kind(), ErrorKind::WouldBlock);
            server.resume();
            assert!(server.is_running() && client.receive().is_ok());
        }
        assert_eq!(server.ask(&["GET", "n"]).text(), "2");
    });
}

#[test]
fn a_killed_server_is_gone_and_comes_back_empty_on_the_same_port() {
    for_both(|engine| {
        let mut server = RedisServer::new(engine);
        server.ask(&["SET", "key", "value"]);
        let address = server.address();
        server.kill();
        assert!(!server.is_running() && Client::connect(address, Duration::from_secs(20)).is_err());
        server.restart();
        assert_eq!(server.address(), address);
        assert_eq!(client(address).ask(&["EXISTS", "key"]).unwrap().text(), "0");
    });
}

#[test]
fn what_is_appended_survives_a_kill_and_what_is_paused_can_be_killed() {
    for_both(|engine| {
        let mut server = RedisLaunch::new(engine).append_only().start();
        server.ask(&["SET", "key", "value"]);
        server.pause();
        server.restart();
        assert_eq!(server.ask(&["GET", "key"]).text(), "value");
        server.terminate();
        server.restart();
        assert_eq!(server.ask(&["GET", "key"]).text(), "value");
    });
}

#[test]
fn a_password_is_asked_for() {
    for_both(|engine| {
        let server = RedisLaunch::new(engine).password("open-sesame").start();
        let mut client = client(server.address());
        assert!(client.ask(&["PING"]).unwrap().text().starts_with("NOAUTH"));
        assert_eq!(client.ask(&["AUTH", "open-sesame"]).unwrap().text(), "OK");
        assert_eq!(server.ask(&["PING"]).text(), "PONG");
    });
}

#[test]
fn it_is_told_what_else_it_should_do() {
    let launch = RedisLaunch::new(Engine::Redis).line("maxmemory 100mb").line("maxmemory-policy allkeys-lru");
    assert_eq!(launch.start().info("maxmemory_policy"), "allkeys-lru");
}

#[test]
fn one_that_does_not_start_is_shown_with_its_log() {
    let broken = catch_unwind(|| RedisLaunch::new(Engine::Redis).line("no-such-setting yes").start().pid());
    let said = broken.unwrap_err().downcast::<String>().unwrap();
    assert!(said.contains("redis-server ended at once") && said.contains("no-such-setting"), "{said}");
}

#[test]
fn a_dropped_server_leaves_neither_process_nor_folder() {
    for_both(|engine| {
        let mut server = RedisServer::new(engine);
        server.pause();
        let (process, folder) = (format!("/proc/{}", server.pid()), server.folder().to_owned());
        assert!(Path::new(&process).exists() && folder.join("server.conf").exists());
        drop(server);
        assert!(!Path::new(&process).exists() && !folder.exists());
    });
}
