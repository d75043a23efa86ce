//! What is ambiguous, and what only looks as if it were.

use http::Request;

use super::*;

fn checked(request: request::Builder) -> Result<(), Malformed> {
    check(&request.body(()).unwrap().into_parts().0)
}

fn path(path: &str) -> Result<(), Malformed> {
    checked(Request::get(path).header("host", "a.example"))
}

#[test]
fn ordinary_paths_pass() {
    for good in [
        "/",
        "/a",
        "/a/",
        "/a/b.c/d..e/...",
        "/.well-known/x",
        "/a%20b",
        "/%C3%A9",
        "/a;b=c/d",
        "/a%3b",
        "/a?b=../..//%2f%00",
        "/a%252e%252e",
        "/~x/@y:z,$&'()*+!=",
        "/..a",
        "/a..",
        "/a.;b",
        "http://a.example/x",
    ] {
        assert_eq!(path(good), Ok(()), "{good}");
    }
}

#[test]
fn paths_that_mean_two_things_are_refused() {
    for (bad, why) in [
        ("/.", Malformed::PathDots),
        ("/..", Malformed::PathDots),
        ("/a/./b", Malformed::PathDots),
        ("/a/../b", Malformed::PathDots),
        ("/a/%2e%2e/b", Malformed::PathDots),
        ("/a/%2E./b", Malformed::PathDots),
        ("/a/.%2e", Malformed::PathDots),
        ("/a/%2e", Malformed::PathDots),
        ("/a/..;/b", Malformed::PathDots),
        ("/a/..;x=y/b", Malformed::PathDots),
        ("/a/..%3bx/b", Malformed::PathDots),
        ("//", Malformed::PathEmptySegment),
        ("//a", Malformed::PathEmptySegment),
        ("/a//b", Malformed::PathEmptySegment),
        ("/a//", Malformed::PathEmptySegment),
        ("/a%2fb", Malformed::PathEncodedSlash),
        ("/a%2Fb", Malformed::PathEncodedSlash),
        ("/a%5cb", Malformed::PathEncodedSlash),
        ("/a%5Cb", Malformed::PathEncodedSlash),
        ("/a%00", Malformed::PathControl),
        ("/a%0d%0aX:y", Malformed::PathControl),
        ("/a%7f", Malformed::PathControl),
        ("/a%", Malformed::PathPercent),
        ("/a%2", Malformed::PathPercent),
        ("/a%zz", Malformed::PathPercent),
        ("/a%+2", Malformed::PathPercent),
        ("/é", Malformed::PathNotAscii),
    ] {
        assert_eq!(path(bad), Err(why), "{bad}");
    }
}

#[test]
fn a_backslash_is_refused_wherever_the_parser_lets_it_through() {
    assert_eq!(check_path(b"/a\\b"), Err(Malformed::PathEncodedSlash));
    assert_eq!(check_path(b"a"), Err(Malformed::PathRelative));
    assert_eq!(check_path(b""), Err(Malformed::PathRelative));
}

#[test]
fn an_asterisk_is_a_target_for_options_only() {
    assert_eq!(checked(Request::options("*").header("host", "a")), Ok(()));
    assert_eq!(checked(Request::get("*").header("host", "a")), Err(Malformed::PathRelative));
}

#[test]
fn there_is_exactly_one_host() {
    let get = || Request::get("/");
    assert_eq!(checked(get()), Err(Malformed::HostMissing));
    assert_eq!(checked(get().version(Version::HTTP_10)), Ok(()));
    assert_eq!(checked(get().header("host", "a").header("host", "a")), Err(Malformed::HostRepeated));
    let old = get().version(Version::HTTP_10).header("host", "a").header("host", "b");
    assert_eq!(checked(old), Err(Malformed::HostRepeated));
    for good in ["a", "a.example:80", "127.0.0.1:8080", "[::1]", "[::1]:80", "A-b_c.example", "a:"] {
        assert_eq!(checked(get().header("host", good)), Ok(()), "{good}");
    }
    for bad in [
        "", "a b", "u@a", "a/b", "a,b", "a:b", "a:999999", "http://a", "a?b", "é", ":80", "a#b", "[a]",
        "[::1", "[::1]x",
    ] {
        assert_eq!(checked(get().header("host", bad)), Err(Malformed::HostInvalid), "{bad:?}");
    }
}

#[test]
fn the_host_is_that_of_the_target() {
    let get = || Request::get("http://a.example/x");
    assert_eq!(checked(get().header("host", "A.Example")), Ok(()));
    assert_eq!(checked(get().header("host", "b.example")), Err(Malformed::HostDisagrees));
    assert_eq!(checked(get().header("host", "a.example:81")), Err(Malformed::HostDisagrees));
    assert_eq!(checked(get()), Err(Malformed::HostMissing));
    assert_eq!(checked(get().version(Version::HTTP_2)), Ok(()));
    let both = get().version(Version::HTTP_2).header("host", "b.example");
    assert_eq!(checked(both), Err(Malformed::HostDisagrees));
    let user = Request::get("http://u@a.example/x").version(Version::HTTP_2);
    assert_eq!(checked(user), Err(Malformed::HostInvalid));
}

#[test]
fn a_body_has_one_length() {
    let post = || Request::post("/").header("host", "a");
    assert_eq!(checked(post().header("content-length", "5")), Ok(()));
    assert_eq!(checked(post().header("content-length", "5").header("content-length", "5")), Ok(()));
    assert_eq!(checked(post().header("transfer-encoding", "Chunked")), Ok(()));
    let both = post().header("content-length", "5").header("transfer-encoding", "chunked");
    assert_eq!(checked(both), Err(Malformed::LengthAmbiguous));
    let two = post().header("content-length", "5").header("content-length", "6");
    assert_eq!(checked(two), Err(Malformed::LengthAmbiguous));
    for bad in ["", "+5", "-5", "5, 5", "0x5", "5 "] {
        let post = post().header("content-length", bad);
        assert_eq!(checked(post), Err(Malformed::LengthAmbiguous), "{bad:?}");
    }
    for bad in ["gzip, chunked", "chunked, chunked", "identity", "xchunked"] {
        let post = post().header("transfer-encoding", bad);
        assert_eq!(checked(post), Err(Malformed::CodingUnknown), "{bad:?}");
    }
    let twice = post().header("transfer-encoding", "chunked").header("transfer-encoding", "chunked");
    assert_eq!(checked(twice), Err(Malformed::CodingUnknown));
}
