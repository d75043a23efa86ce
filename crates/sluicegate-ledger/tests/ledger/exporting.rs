//! Usage in every format.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use serde_json::Value;
use sluicegate_core::key_env::KeyEnv;
use sluicegate_ledger::export::{Exported, Format, Named, StripeEvents};
use sluicegate_ledger::quarter::quarters_of;
use sluicegate_ledger::usage::Query;
use sluicegate_ledger::{Flags, Kind, Record};

use crate::fixtures::{Bed, append, at, charge, hour, names};

fn bed() -> Bed {
    let bed = Bed::new();
    let first = charge(at(0, 5), 1, 10);
    append(&bed.spool, &Record { overage: 4, ..first });
    append(&bed.spool, &Record { kind: Kind::Refund, cost: 3, ..first });
    append(&bed.spool, &Record { flags: Flags::DEGRADED, route: 5, ..first });
    append(&bed.spool, &Record { account: 0, key: 0, route: 0, ..first });
    append(&bed.spool, &Record { kind: Kind::Refund, at: at(1, 0), cost: 2, ..charge(at(0, 0), 2, 9) });
    bed.ledger.close_due(&bed.spool, at(2, 0)).unwrap();
    // Not closed yet.
    append(&bed.spool, &charge(at(2, 5), 1, 100));
    bed.spool.flush().unwrap();
    bed.ledger.roll(&bed.spool).unwrap();
    bed
}

fn export(bed: &Bed, query: &Query, format: &Format) -> (String, Exported) {
    let mut out = Vec::new();
    let exported = bed.ledger.export(query, format, &*names(), &mut out).unwrap();
    (String::from_utf8(out).unwrap(), exported)
}

#[test]
fn comma_separated_values_have_a_header_and_quotes_where_they_need_them() {
    let (text, exported) = export(&bed(), &Query::default(), &Format::Csv);
    assert_eq!(
        text,
        "hour,account,key,route,tier,late,degraded,requests,charged,corrected,refunded,total,overage,\
         start,unit,env,charge_start\n\
         2026-09-21T13:00:00Z,,,,tier_2,false,false,1,10,0,0,10,0,\
         2026-09-21T13:00:00Z,requests,live,2026-09-21T13:00:00Z\n\
         2026-09-21T13:00:00Z,acct_1,key_10,\"convert, \"\"fast\"\"\",tier_2,false,false,1,10,0,3,7,4,\
         2026-09-21T13:00:00Z,requests,live,2026-09-21T13:00:00Z\n\
         2026-09-21T13:00:00Z,acct_1,key_10,route_5,tier_2,false,true,1,10,0,0,10,0,\
         2026-09-21T13:00:00Z,requests,live,2026-09-21T13:00:00Z\n\
         2026-09-21T15:00:00Z,acct_1,key_10,\"convert, \"\"fast\"\"\",tier_2,false,false,1,100,0,0,100,0,\
         2026-09-21T15:00:00Z,requests,live,2026-09-21T15:00:00Z\n\
         2026-09-21T14:00:00Z,acct_2,key_20,\"convert, \"\"fast\"\"\",tier_2,false,false,0,0,0,2,-2,0,\
         2026-09-21T14:00:00Z,requests,live,2026-09-21T13:00:00Z\n"
    );
    assert_eq!((exported.rows, exported.open), (5, hour(2)));
    let nothing = Query { account: Some(77), ..Query::default() };
    assert_eq!(export(&bed(), &nothing, &Format::Csv).0.lines().count(), 1);
}

#[test]
fn json_lines_say_the_same() {
    let (text, _) = export(&bed(), &Query { account: Some(1), ..Query::default() }, &Format::JsonLines);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["route"], "convert, \"fast\"");
    assert_eq!((&lines[0]["total"], &lines[0]["overage"]), (&7.into(), &4.into()));
    let (text, _) = export(
        &bed(),
        &Query { quarters: quarters_of(&(hour(0)..hour(1))), ..Query::default() },
        &Format::JsonLines,
    );
    assert!(text.starts_with(r#"{"hour":"2026-09-21T13:00:00Z","account":null,"key":null,"#), "{text}");
}

#[test]
fn cloud_events_are_of_closed_hours_and_have_the_same_ids_every_time() {
    let bed = bed();
    let (text, exported) = export(&bed, &Query::default(), &Format::CloudEvents);
    assert_eq!((exported.rows, exported.open), (4, hour(2)));
    assert_eq!(export(&bed, &Query::default(), &Format::CloudEvents).0, text);
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: std::collections::BTreeSet<&str> = events.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 4);
    let event = &events[1];
    assert_eq!((&event["specversion"], &event["type"]), (&"1.0".into(), &"sluicegate.usage".into()));
    assert_eq!((&event["subject"], &event["source"]), (&"acct_1".into(), &"/sluicegate/n1".into()));
    assert_eq!((&event["time"], &event["data"]["total"]), (&"2026-09-21T13:00:00Z".into(), &"7".into()));
    assert_eq!(events[0]["subject"], "anonymous");
}

#[test]
fn meter_events_leave_out_what_nobody_can_be_billed_for() {
    let stripe = Format::Stripe(StripeEvents { event_name: "calls".to_owned(), ..StripeEvents::default() });
    let (text, exported) = export(&bed(), &Query::default(), &stripe);
    assert_eq!((exported.rows, exported.left_out), (3, 1));
    let event: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(event["event_name"], "calls");
    assert_eq!(event["timestamp"], 1_789_995_600);
    assert_eq!(event["payload"]["stripe_customer_id"], "acct_1");
    assert_eq!(event["payload"]["value"], "7");
    let identifier = event["identifier"].as_str().unwrap();
    assert!(identifier.len() <= 100 && identifier.starts_with("sg_"), "{identifier}");
}

/// One request of a live key and one of a test key, in the last quarter of an hour.
fn bed_with_test_key() -> Bed {
    let bed = Bed::new();
    let live = charge(at(0, 2_700), 1, 10);
    append(&bed.spool, &live);
    append(&bed.spool, &Record { env: KeyEnv::Test, cost: 5, ..live });
    bed.ledger.close_due(&bed.spool, at(2, 0)).unwrap();
    bed
}

#[test]
fn test_keys_are_marked_in_every_export_and_never_billed() {
    let bed = bed_with_test_key();
    let (csv, _) = export(&bed, &Query::default(), &Format::Csv);
    let marked: Vec<&str> = csv.lines().skip(1).filter_map(|line| line.split(",2026").nth(1)).collect();
    assert_eq!(marked, ["-09-21T13:45:00Z,requests,live", "-09-21T13:45:00Z,requests,test"], "{csv}");
    let lines = |format: &Format| -> Vec<Value> {
        let (text, _) = export(&bed, &Query::default(), format);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let rows = lines(&Format::JsonLines);
    assert_eq!((&rows[0]["env"], &rows[1]["env"]), (&"live".into(), &"test".into()));
    assert_eq!((&rows[1]["unit"], &rows[1]["start"]), (&"requests".into(), &"2026-09-21T13:45:00Z".into()));
    let events = lines(&Format::CloudEvents);
    assert_eq!((&events[0]["data"]["env"], &events[0]["type"]), (&"live".into(), &"sluicegate.usage".into()));
    assert_eq!((&events[1]["data"]["env"], &events[1]["data"]["unit"]), (&"test".into(), &"requests".into()));
    assert_eq!(events[1]["type"], "sluicegate.usage.test", "a meter of `sluicegate.usage` does not count it");
    assert_eq!(events[1]["time"], "2026-09-21T13:45:00Z");
    assert_ne!(events[0]["id"], events[1]["id"]);
    let rows = parquet_rows(&bed);
    let marks = |row: &Row| (row.get_string(15).unwrap().clone(), row.get_string(16).unwrap().clone());
    let requests = |env: &str| ("requests".to_owned(), env.to_owned());
    assert_eq!(rows.iter().map(marks).collect::<Vec<_>>(), [requests("live"), requests("test")]);
    let (text, exported) = export(&bed, &Query::default(), &Format::Stripe(StripeEvents::default()));
    assert_eq!((exported.rows, exported.left_out), (1, 1), "nobody is billed for a test key");
    let event: Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!((&event["payload"]["env"], &event["payload"]["unit"]), (&"live".into(), &"requests".into()));
    assert_eq!(event["timestamp"], 1_789_995_600 + 2_700);
}

#[test]
fn a_name_that_cannot_be_told_stops_the_export() {
    let bed = bed();
    let unknown = |what: Named| (what != Named::Account(2)).then(|| "known".to_owned());
    let error = bed.ledger.export(&Query::default(), &Format::Csv, &unknown, Vec::new()).unwrap_err();
    assert!(error.to_string().contains("the name of account 2"), "{error}");
}

fn parquet_rows(bed: &Bed) -> Vec<Row> {
    let mut out = Vec::new();
    bed.ledger.export(&Query::default(), &Format::Parquet, &*names(), &mut out).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(out)).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_parquet_file_has_all_rows() {
    let rows = parquet_rows(&bed());
    assert_eq!(rows.len(), 5);
    let total = |row: &Row| row.get_long(13).unwrap();
    assert_eq!(rows.iter().map(total).sum::<i64>(), 10 + 7 + 10 - 2 + 100);
    assert_eq!(rows[1].get_string(1).unwrap(), "acct_1");
    assert_eq!(
        (rows[1].get_string(15).unwrap(), rows[1].get_string(16).unwrap()),
        (&"requests".into(), &"live".into())
    );
    let (first, last) =
        (rows[0].get_timestamp_millis(14).unwrap(), rows[3].get_timestamp_millis(14).unwrap());
    assert_eq!((first, last), (1_789_995_600_000, 1_790_002_800_000));
    assert!(rows[0].get_string(1).is_err(), "callers without a key have no account");
}

#[test]
fn what_was_recorded_after_its_charge_says_when_that_was_in_every_export() {
    let bed = bed();
    // A table has what was charged in its hours, with later corrections.
    let first = Query { quarters: quarters_of(&(hour(0)..hour(1))), ..Query::default() };
    let lines = |query: &Query, format: &Format| -> Vec<Value> {
        let (text, _) = export(&bed, query, format);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let refund = |rows: &[Value]| rows.iter().find(|row| row["account"] == "acct_2").cloned();
    let row = refund(&lines(&first, &Format::JsonLines)).unwrap();
    assert_eq!(
        (&row["start"], &row["charge_start"]),
        (&"2026-09-21T14:00:00Z".into(), &"2026-09-21T13:00:00Z".into())
    );
    let second = Query { quarters: quarters_of(&(hour(1)..hour(2))), ..Query::default() };
    assert_eq!(lines(&second, &Format::JsonLines), Vec::<Value>::new());
    // Events are those that were recorded in the hours: an export of hour after hour sends each once.
    let events = lines(&second, &Format::CloudEvents);
    assert_eq!(events.len(), 1);
    assert_eq!(
        (&events[0]["subject"], &events[0]["time"]),
        (&"acct_2".into(), &"2026-09-21T13:00:00Z".into())
    );
    assert_eq!(events[0]["data"]["recorded"], "2026-09-21T14:00:00Z");
    let meter = lines(&second, &Format::Stripe(StripeEvents::default()));
    assert_eq!((&meter[0]["timestamp"], &meter[0]["identifier"]), (&1_789_995_600.into(), &events[0]["id"]));
    assert_eq!(meter[0]["payload"]["recorded"], "2026-09-21T14:00:00Z");
    let rows = parquet_rows(&bed);
    let moved = rows.iter().find(|row| row.get_string(1).is_ok_and(|account| account == "acct_2")).unwrap();
    let at = |column: usize| moved.get_timestamp_millis(column).unwrap();
    assert_eq!((at(14), at(18)), (1_789_999_200_000, 1_789_995_600_000));
    assert_eq!(events[0]["id"], "sg_feee287706709bb4a22dbdf9a3c1e44b", "what was sent keeps its id");
}
