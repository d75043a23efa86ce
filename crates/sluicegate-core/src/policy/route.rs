//! Routes: which requests are which, what they cost, what scope they need.

mod spelling;

use std::fmt;

use super::url::HttpUrl;
use spelling::{is_equivalent, is_same_ignoring_case};

/// Where a route stands in the policy's list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RouteIndex(pub u16);

/// One step of a path pattern.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Segment {
    /// Exactly this text.
    Literal(String),
    /// `*`: any one segment.
    Any,
}

/// A pattern such as `POST /api/convert` or `GET /api/search/**`.
///
/// `*` stands for one segment, a final `**` for any number of them, none included. Without a method every
/// method matches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pattern {
    method: Option<String>,
    segments: Vec<Segment>,
    open_ended: bool,
    case: Case,
}

/// Whether upper and lower case are told apart in the path of a route.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Case {
    /// They are not: many frameworks match paths this way, and a route that is missed is a limit that is escaped.
    #[default]
    Insensitive,
    /// They are: `/A` and `/a` are two paths.
    Sensitive,
}

/// Why a text is no pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadPattern {
    /// It has no path that starts with `/`.
    NoPath,
    /// The method is not made of capital letters.
    Method,
    /// `**` stands before the end.
    OpenInTheMiddle,
    /// A segment mixes `*` with other characters.
    PartialWildcard,
    /// A segment is empty, `.` or `..`, or holds a character that no path has: such a path never arrives.
    NeverArrives,
    /// More than [`Pattern::SEGMENTS_MAX`] segments.
    TooLong,
}

impl Pattern {
    /// The most segments a pattern may have.
    pub const SEGMENTS_MAX: usize = 64;

    /// Reads `METHOD /path` or `/path`.
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        let (method, path) = match text.trim().split_once(char::is_whitespace) {
            Some((method, path)) => (Some(method), path.trim_start()),
            None => (None, text.trim()),
        };
        let method = method.filter(|method| *method != "*").map(str::to_owned);
        if method.as_ref().is_some_and(|method| !method.bytes().all(|c| c.is_ascii_uppercase())) {
            return Err(BadPattern::Method);
        }
        let rest = path.strip_prefix('/').ok_or(BadPattern::NoPath)?;
        let (rest, open_ended) = match rest.strip_suffix("**") {
            Some("") => ("", true),
            Some(rest) => (rest.strip_suffix('/').ok_or(BadPattern::PartialWildcard)?, true),
            None => (rest, false),
        };
        let mut segments = Vec::new();
        if !(rest.is_empty() && (open_ended || path == "/")) {
            for text in rest.split('/') {
                segments.push(Segment::parse(text)?);
            }
        }
        if segments.len() > Self::SEGMENTS_MAX {
            return Err(BadPattern::TooLong);
        }
        Ok(Self { method, segments, open_ended, case: Case::default() })
    }

    /// The same pattern with this treatment of upper and lower case.
    #[must_use]
    pub fn with_case(self, case: Case) -> Self {
        Self { case, ..self }
    }

    /// Whether a request with this method and this normalised path is meant. A slash at the end of the path
    /// says nothing.
    pub fn matches(&self, method: &str, path: &str) -> bool {
        if self.method.as_deref().is_some_and(|wanted| !is_method(wanted, method)) {
            return false;
        }
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let mut given = path.split('/').filter(|_| !path.is_empty());
        for segment in &self.segments {
            let matched = given.next().is_some_and(|text| match segment {
                Segment::Literal(literal) => literal == text || is_equivalent(literal, text, self.case),
                Segment::Any => true,
            });
            if !matched {
                return false;
            }
        }
        self.open_ended || given.next().is_none()
    }

    /// Whether every request that `other` matches is matched by this pattern too.
    pub fn covers(&self, other: &Self) -> bool {
        let methods = match (self.method.as_deref(), other.method.as_deref()) {
            (None, _) => true,
            (Some(ours), Some(theirs)) => is_method(ours, theirs),
            (Some(_), None) => false,
        };
        let depth = if self.open_ended {
            other.segments.len() >= self.segments.len()
        } else {
            !other.open_ended && other.segments.len() == self.segments.len()
        };
        let same = self
            .segments
            .iter()
            .zip(&other.segments)
            .all(|(ours, theirs)| self.covers_segment(ours, theirs, other.case));
        methods && depth && same
    }

    fn covers_segment(&self, ours: &Segment, theirs: &Segment, their_case: Case) -> bool {
        match (ours, theirs) {
            (Segment::Any, _) => true,
            (Segment::Literal(_), Segment::Any) => false,
            (Segment::Literal(ours), Segment::Literal(theirs)) => match (self.case, their_case) {
                (Case::Insensitive, _) => is_same_ignoring_case(ours, theirs),
                (Case::Sensitive, Case::Sensitive) => ours == theirs,
                // The other pattern also takes the spellings in the other case, if there are any.
                (Case::Sensitive, Case::Insensitive) => {
                    ours == theirs && !ours.contains(|c: char| c.is_lowercase() || c.is_uppercase())
                }
            },
        }
    }
}

/// Whether a request with this method is one that a pattern wants. Who answers GET answers HEAD by the same code.
fn is_method(wanted: &str, given: &str) -> bool {
    wanted == given || (wanted == "GET" && given == "HEAD")
}

impl Segment {
    fn parse(text: &str) -> Result<Self, BadPattern> {
        match text {
            "*" => Ok(Self::Any),
            "**" => Err(BadPattern::OpenInTheMiddle),
            "" | "." | ".." => Err(BadPattern::NeverArrives),
            _ if text.contains('*') => Err(BadPattern::PartialWildcard),
            _ if text
                .contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '\\')) =>
            {
                Err(BadPattern::NeverArrives)
            }
            _ => Ok(Self::Literal(text.to_owned())),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = &self.method {
            write!(f, "{method} ")?;
        }
        for segment in &self.segments {
            match segment {
                Segment::Literal(text) => write!(f, "/{text}")?,
                Segment::Any => f.write_str("/*")?,
            }
        }
        match (self.open_ended, self.segments.is_empty()) {
            (true, _) => f.write_str("/**"),
            (false, true) => f.write_str("/"),
            (false, false) => Ok(()),
        }
    }
}

/// A named kind of request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Route {
    /// What it is called in limits, metrics and the ledger.
    pub name: String,
    /// Which requests it is.
    pub pattern: Pattern,
    /// What one of them costs.
    pub cost: u64,
    /// The scope a key must have.
    pub scope: Option<String>,
    /// Where such requests are forwarded instead of the server's upstream.
    pub upstream: Option<HttpUrl>,
    /// What a request costs that repeats the name of another.
    pub repeats: Repeats,
}

/// What a request costs that repeats the name of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Repeats {
    /// Nothing that is sold, if every earlier attempt has failed at the upstream: nothing was delivered yet.
    #[default]
    AfterFailure,
    /// Nothing that is sold: the upstream recognises the name, and does not do the work again.
    Free,
    /// As much as any other: names say nothing here.
    Charged,
}

impl Route {
    /// A request is one unit unless its route says otherwise.
    pub const COST_DEFAULT: u64 = 1;
}

/// All routes, in the order of the file: the first that matches is the one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Routes(Vec<Route>);

impl Routes {
    /// The most routes a policy may have.
    pub const COUNT_MAX: usize = 1_000;

    /// The list. Whoever builds it has made sure that there are at most [`Routes::COUNT_MAX`].
    pub fn new(routes: Vec<Route>) -> Self {
        debug_assert!(routes.len() <= Self::COUNT_MAX, "checked when the policy was read");
        Self(routes)
    }

    /// The first route that matches.
    pub fn find(&self, method: &str, path: &str) -> Option<(RouteIndex, &Route)> {
        self.iter().find(|(_, route)| route.pattern.matches(method, path))
    }

    /// The route at `index`.
    pub fn get(&self, index: RouteIndex) -> Option<&Route> {
        self.0.get(usize::from(index.0))
    }

    /// All of them with their places.
    pub fn iter(&self) -> impl Iterator<Item = (RouteIndex, &Route)> {
        (0u16..).map(RouteIndex).zip(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).unwrap()
    }

    #[test]
    fn patterns_match_by_method_and_segments() {
        let fits = [
            ("POST /api/convert", "POST", "/api/convert"),
            ("POST /api/convert", "POST", "/api/convert/"),
            ("/api/*/keys", "GET", "/api/7/keys"),
            ("GET /api/search/**", "GET", "/api/search"),
            ("GET /api/search/**", "GET", "/api/search/a/b"),
            ("/", "GET", "/"),
            ("/**", "PUT", "/x"),
            ("GET /api", "HEAD", "/api"),
            ("POST /api/convert", "POST", "/api/conver%74"),
            ("POST /api/convert", "POST", "/%61pi/%63%6Fnvert"),
            ("POST /api/convert", "POST", "/api/convert;v=1"),
            ("/a+b", "GET", "/a%2Bb"),
            ("POST /api/convert", "POST", "/API/Convert"),
            ("POST /api/convert", "POST", "/api/%43ONVERT;v=1"),
            ("/Straße", "GET", "/stra%C3%9Fe"),
            ("/ärger", "GET", "/%C3%84RGER"),
        ];
        for (text, method, path) in fits {
            assert!(pattern(text).matches(method, path), "{text} {method} {path}");
        }
        let misses = [
            ("POST /api/convert", "GET", "/api/convert"),
            ("/api/*/keys", "GET", "/api/keys"),
            ("/api", "GET", "/api/x"),
            ("/", "GET", "/x"),
            ("HEAD /api", "GET", "/api"),
            ("/api", "GET", "/ap%"),
            ("/api", "GET", "/ap%69x"),
            ("/api", "GET", "/ap%C4%B1"),
            ("/api", "GET", "/api%FF"),
        ];
        for (text, method, path) in misses {
            assert!(!pattern(text).matches(method, path), "{text} {method} {path}");
        }
    }

    #[test]
    fn a_case_sensitive_pattern_takes_no_other_spelling() {
        let exact = pattern("/Api/x").with_case(Case::Sensitive);
        for (path, fits) in [("/Api/x", true), ("/%41pi/x", true), ("/api/x", false), ("/%61pi/x", false)] {
            assert_eq!(exact.matches("GET", path), fits, "{path}");
        }
        let any = pattern("/api/x");
        assert!(any.covers(&exact) && !exact.covers(&any));
        let digits = |case| pattern("/7").with_case(case);
        assert!(digits(Case::Sensitive).covers(&digits(Case::Insensitive)));
    }

    #[test]
    fn a_pattern_covers_another_only_if_it_matches_all_of_its_requests() {
        let all = [
            "/",
            "/**",
            "/a",
            "/a/**",
            "/*",
            "/*/**",
            "/a/b",
            "/a/*",
            "/*/b",
            "GET /a",
            "GET /**",
            "POST /a/*",
        ];
        let paths = ["/", "/a", "/b", "/a/b", "/a/c", "/b/b", "/a/b/c"];
        for (first, second) in all.iter().flat_map(|first| all.iter().map(move |second| (*first, *second))) {
            let (outer, inner) = (pattern(first), pattern(second));
            let all_matched = paths
                .iter()
                .flat_map(|path| [("GET", path), ("POST", path), ("PUT", path)])
                .filter(|(method, path)| inner.matches(method, path))
                .all(|(method, path)| outer.matches(method, path));
            assert_eq!(outer.covers(&inner), all_matched, "{first} covers {second}");
        }
    }
}
