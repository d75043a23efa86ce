//! A group under sentinels.

use sluicegate_testkit::redis::{Engine, RedisLaunch, Sentinels};
use sluicegate_testkit::wait;

use crate::{client, for_both};

#[test]
fn another_primary_takes_over_and_the_old_one_comes_back_as_a_replica() {
    for_both(|engine| {
        let mut group = Sentinels::start(engine);
        let first = group.primary();
        let mut client = client(first);
        assert_eq!(client.ask(&["SET", "key", "value"]).unwrap().text(), "OK");
        assert_eq!(client.ask(&["WAIT", "2", "10000"]).unwrap().text(), "2");
        assert_eq!(group.kill_primary(), first);
        let second = group.wait_for_failover(first);
        assert_ne!(second, first);
        let server = group.server(second);
        assert_eq!(server.ask(&["GET", "key"]).text(), "value");
        assert_eq!(server.ask(&["SET", "key", "new"]).text(), "OK");

        group.server(first).restart();
        wait::until("the old primary follows", || {
            (group.server(first).info("master_link_status") == "up").then_some(())
        });
        assert_eq!(group.server(first).ask(&["GET", "key"]).text(), "new");
        assert_eq!((group.primary(), group.addresses().len()), (second, 3));
    });
}

#[test]
fn servers_with_a_password_are_watched_too() {
    let group = Sentinels::start_with(&RedisLaunch::new(Engine::Redis).password("secret"));
    let [one, two, three] = group.addresses()[..] else { panic!("three sentinels") };
    assert_eq!(group.url(), format!("redis+sentinel://{one},{two},{three}/{}", group.group()));
    assert!(!group.addresses().contains(&group.primary()));
}
