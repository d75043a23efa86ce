//! Values that people give, at their edges.

use sluicegate_store::directory::{
    AccountId, Cursor, CustomBody, DisplayName, FieldError, PageLimit, Scopes, ZoneName, billing_day,
};

fn field<T: std::fmt::Debug>(value: Result<T, FieldError>) -> &'static str {
    let error = value.unwrap_err();
    assert!(error.to_string().starts_with(error.field) && error.to_string().len() > error.field.len() + 5);
    error.field
}

#[test]
fn an_id_is_short_and_plain() {
    for good in ["a", "0", "A.b_c-d", &"x".repeat(64)] {
        assert_eq!(AccountId::new(good).unwrap().as_str(), good);
    }
    for bad in ["", ".a", "_a", "-a", "a b", "a/b", "ä", "a\n", "a:b", &"x".repeat(65)] {
        assert_eq!(field(AccountId::new(bad)), "id", "{bad}");
    }
}

#[test]
fn a_name_is_one_line_of_two_hundred_characters() {
    assert_eq!(DisplayName::new("  Ünïcode & Söhne  ").unwrap().as_str(), "Ünïcode & Söhne");
    assert!(DisplayName::new("").is_ok() && DisplayName::new(&"ß".repeat(200)).is_ok());
    assert_eq!(field(DisplayName::new(&"ß".repeat(201))), "name");
    for bad in ["a\nb", "a\0b", "a\u{7f}b", "a\u{85}b"] {
        assert_eq!(field(DisplayName::new(bad)), "name", "{bad:?}");
    }
}

#[test]
fn a_key_may_do_what_its_scopes_say() {
    let scopes = Scopes::new(["convert:write", "search.read", "convert:write"]).unwrap();
    assert_eq!(scopes.iter().collect::<Vec<_>>(), ["convert:write", "search.read"]);
    assert!(scopes.admit("convert:write") && !scopes.admit("convert") && !scopes.admit("*"));
    assert!(Scopes::new(["*"]).unwrap().admit("anything"));
    assert!(!Scopes::default().admit("anything"), "without scopes a key lacks every scope");
    // Only the star alone stands for all.
    assert!(!Scopes::new(["convert:*"]).unwrap().admit("convert:write"));
}

#[test]
fn scopes_are_few_short_and_plain() {
    let many: Vec<String> = (0..51).map(|at| format!("s{at}")).collect();
    assert!(Scopes::new(many[..50].iter().map(String::as_str)).is_ok());
    assert_eq!(field(Scopes::new(many.iter().map(String::as_str))), "scopes");
    assert!(Scopes::new([&*"x".repeat(64)]).is_ok());
    for bad in ["", "a b", "a,b", "ä", &"x".repeat(65)] {
        assert_eq!(field(Scopes::new(["ok", bad])), "scopes", "{bad}");
    }
}

#[test]
fn a_zone_is_one_that_is_known() {
    assert_eq!(ZoneName::new("Europe/Berlin").unwrap().as_str(), "Europe/Berlin");
    assert!(ZoneName::new("UTC").is_ok());
    for bad in ["", "Berlin", "Europe/Nowhere", "+01:00", "../etc/passwd"] {
        assert_eq!(field(ZoneName::new(bad)), "timezone", "{bad}");
    }
}

#[test]
fn the_other_values_have_their_edges_too() {
    assert!(billing_day(1).is_ok() && billing_day(31).is_ok());
    assert_eq!((field(billing_day(0)), field(billing_day(32))), ("billing_day", "billing_day"));
    assert!(CustomBody::new("x".repeat(CustomBody::BYTES_MAX)).is_ok());
    assert_eq!(field(CustomBody::new("x".repeat(CustomBody::BYTES_MAX + 1))), "custom");
    assert_eq!(field(CustomBody::new(" \n")), "custom");
    assert_eq!(PageLimit::default().get(), 100);
    assert!(PageLimit::new(1).is_ok() && PageLimit::new(1_000).is_ok());
    for bad in [0, 1_001, 65_537, u64::MAX] {
        assert_eq!(field(PageLimit::new(bad)), "limit");
    }
    for bad in ["", "c", "7", "c+7", "cG", "c07", "C7", "c11111111111111111", "c-1"] {
        assert_eq!(field(Cursor::parse(bad)), "cursor", "{bad}");
    }
    assert_eq!(Cursor::parse("cff").unwrap().to_string(), "cff");
}
