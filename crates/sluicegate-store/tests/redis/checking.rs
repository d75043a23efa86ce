//! A Redis that would lose what is counted in it is refused, with what to do.

use std::time::Duration;

use sluicegate_store::redis::check::{NEEDED, Unfit, check};
use sluicegate_store::redis::{Address, Link, LinkOptions, Password};
use sluicegate_testkit::chaos::{ChaosProxy, Mode};
use sluicegate_testkit::redis::{Engine, RedisLaunch, RedisServer};

use crate::bed::{PATIENT, runtime};
use crate::on_each_engine;

on_each_engine!(
    a_server_as_it_comes_is_fit,
    one_that_is_busy_is_waited_for,
    one_that_evicts_is_refused_unless_told_otherwise,
    a_replica_is_refused,
    a_user_that_may_not_run_what_the_script_needs_is_refused,
    a_server_that_is_not_there_cannot_be_checked,
);

fn checked(url: &str, user: Option<(&str, &str)>) -> Result<(), Unfit> {
    let runtime = runtime();
    let options = LinkOptions {
        deadline: PATIENT,
        username: user.map(|(name, _)| name.to_owned()),
        password: user.map(|(_, password)| Password::new(password.to_owned())),
        ..LinkOptions::default()
    };
    runtime.block_on(async {
        let link = Link::open(&Address::parse(url).unwrap(), &options).unwrap();
        check(&link).await
    })
}

fn a_server_as_it_comes_is_fit(engine: Engine) {
    assert_eq!(checked(&RedisServer::new(engine).url(), None), Ok(()));
    let guarded = RedisLaunch::new(engine).password("secret").start();
    assert_eq!(checked(&guarded.url(), Some(("default", "secret"))), Ok(()));
}

fn one_that_is_busy_is_waited_for(engine: Engine) {
    let server = RedisServer::new(engine);
    let way = ChaosProxy::start(server.address());
    // More than a decision waits.
    way.set(Mode::Latency(Duration::from_millis(100)));
    let address = Address::parse(&format!("redis://{}", way.address())).unwrap();
    runtime().block_on(async {
        let link = Link::open(&address, &LinkOptions::default()).unwrap();
        link.ready(Duration::from_secs(20)).await.unwrap();
        assert_eq!(check(&link).await, Ok(()));
    });
}

fn one_that_evicts_is_refused_unless_told_otherwise(engine: Engine) {
    let server = RedisLaunch::new(engine).line("maxmemory-policy volatile-lru").start();
    let unfit = checked(&server.url(), None).unwrap_err();
    assert_eq!(unfit, Unfit::Evicts("volatile-lru".into()));
    assert!(unfit.to_string().contains("maxmemory-policy to noeviction"), "{unfit}");
    assert_eq!(checked(&format!("{}?allow_eviction=yes", server.url()), None), Ok(()));
}

fn a_replica_is_refused(engine: Engine) {
    let primary = RedisServer::new(engine);
    let follow = format!("replicaof 127.0.0.1 {}", primary.address().port());
    let replica = RedisLaunch::new(engine).line(follow).start();
    let unfit = checked(&replica.url(), None).unwrap_err();
    assert_eq!(unfit, Unfit::Replica);
    assert!(unfit.to_string().contains("address of its primary"), "{unfit}");
}

fn a_user_that_may_not_run_what_the_script_needs_is_refused(engine: Engine) {
    let server = RedisServer::new(engine);
    let user = |name: &str, rules: &str| {
        let mut words = vec!["ACL", "SETUSER", name, "on", ">pw"];
        words.extend(rules.split(' '));
        assert_eq!(server.ask(&words).text(), "OK");
        checked(&server.url(), Some((name, "pw")))
    };
    assert_eq!(user("advised", NEEDED), Ok(()));
    let forbidden = |command: &str| Err(Unfit::Forbidden(command.into()));
    assert_eq!(user("mute", "+@all -eval -evalsha ~* &*"), forbidden("eval"));
    assert_eq!(user("hashless", "+@all -evalsha ~* &*"), forbidden("evalsha"));
    assert_eq!(user("deaf", "+@all -subscribe ~* &*"), forbidden("subscribe"));
    assert_eq!(user("shut", "+@all ~* &other:*"), forbidden("publish"));
    assert_eq!(user("still", "+@all -setrange ~*"), forbidden("setrange"));
    assert_eq!(
        user("elsewhere", "+@all ~other:*").map_err(|unfit| matches!(unfit, Unfit::Forbidden(_))),
        Err(true)
    );
    let unfit = user("blind", "+@all -@dangerous ~*").unwrap_err();
    assert!(unfit.to_string().contains("ACL SETUSER"), "{unfit}");
}

fn a_server_that_is_not_there_cannot_be_checked(engine: Engine) {
    let mut server = RedisServer::new(engine);
    server.kill();
    assert!(matches!(checked(&server.url(), None), Err(Unfit::Query(_))));
}
