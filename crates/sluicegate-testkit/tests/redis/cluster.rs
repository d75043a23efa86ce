//! A cluster.

use sluicegate_testkit::redis::{Cluster, Reply};
use sluicegate_testkit::wait;

use crate::{client, for_both};

#[test]
fn slots_are_divided_and_a_replica_takes_over() {
    for_both(|engine| {
        let mut cluster = Cluster::start(engine);
        assert!(cluster.url().starts_with(&format!("redis+cluster://{},", cluster.addresses()[0])));
        let (slot, other) = (cluster.slot_of("foo"), cluster.slot_of("bar"));
        assert_eq!((slot, other), (12_182, 5_061));
        let (first, elsewhere) = (cluster.primary_of(slot), cluster.primary_of(other));
        assert_ne!(first, elsewhere);
        let mut writer = client(first);
        assert_eq!(writer.ask(&["SET", "foo", "value"]).unwrap().text(), "OK");
        assert_eq!(writer.ask(&["WAIT", "1", "10000"]).unwrap().text(), "1");
        let sent_on = client(elsewhere).ask(&["GET", "foo"]).unwrap();
        assert_eq!(sent_on, Reply::Error(format!("MOVED {slot} {first}")));

        assert_eq!(cluster.kill_primary_of(slot), first);
        let second = cluster.wait_for_failover(slot, first);
        assert_eq!(client(second).ask(&["GET", "foo"]).unwrap().text(), "value");
        assert_eq!(cluster.primary_of(other), elsewhere);

        cluster.node(first).restart();
        wait::until("the old primary follows", || {
            (cluster.node(first).info("master_link_status") == "up").then_some(())
        });
        assert_eq!((cluster.primary_of(slot), cluster.addresses().len()), (second, 6));
    });
}
