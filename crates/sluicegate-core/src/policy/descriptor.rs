//! Limits by descriptors: lists of keys and values that somebody else has made of a request.

use std::collections::BTreeMap;

use crate::limit::LimitName;
use crate::rule::Rule;

/// All limits by descriptors.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Descriptors {
    domains: BTreeMap<String, Level>,
}

/// What is said about descriptors that end with an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DescriptorLimit {
    /// What it is called in answers.
    pub name: LimitName,
    /// How much; nothing: as much as they like.
    pub rule: Option<Rule>,
    /// Whether it refuses.
    pub enforcement: Enforcement,
}

/// Whether a limit refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enforcement {
    /// It does.
    Refuses,
    /// It only counts.
    Counts,
}

/// The values of an entry that are meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Values {
    /// All of them.
    Any,
    /// This one.
    Is(String),
    /// Those that begin so.
    StartsWith(String),
}

/// What may come at one place of a descriptor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Level {
    keys: BTreeMap<String, Known>,
}

/// What is said about one key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Known {
    by_value: BTreeMap<String, Node>,
    /// The longest first.
    by_start: Vec<(String, Node)>,
    any: Option<Box<Node>>,
}

/// What is said about an entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node {
    /// About descriptors that end with it.
    pub limit: Option<DescriptorLimit>,
    /// About those that go on.
    pub below: Level,
}

impl Descriptors {
    /// The most entries that all domains together may describe.
    pub const COUNT_MAX: usize = 2_000;
    /// The most entries that a descriptor may have.
    pub const DEPTH_MAX: usize = 20;

    /// Those of these domains.
    pub fn new(domains: BTreeMap<String, Level>) -> Self {
        Self { domains }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.domains.is_empty()
    }

    /// What is said about a descriptor with exactly these entries, in this order. Where several fit an entry, the value
    /// itself counts for more than how it begins, and that for more than the key alone.
    pub fn find<'e>(
        &self,
        domain: &str,
        entries: impl IntoIterator<Item = (&'e str, &'e str)>,
    ) -> Option<&DescriptorLimit> {
        let mut level = self.domains.get(domain)?;
        let mut found = None;
        for (key, value) in entries {
            let node = level.find(key, value)?;
            found = node.limit.as_ref();
            level = &node.below;
        }
        found
    }
}

impl Level {
    /// Says this about a key with such values. What was said about them before, if anything was.
    pub fn insert(&mut self, key: String, values: Values, node: Node) -> Option<Node> {
        let known = self.keys.entry(key).or_default();
        match values {
            Values::Any => known.any.replace(Box::new(node)).map(|node| *node),
            Values::Is(value) => known.by_value.insert(value, node),
            Values::StartsWith(start) => {
                let place = known.by_start.iter().position(|(other, _)| *other == start);
                if let Some(place) = place {
                    return known.by_start.get_mut(place).map(|(_, old)| std::mem::replace(old, node));
                }
                known.by_start.push((start, node));
                known.by_start.sort_by_key(|(start, _)| std::cmp::Reverse(start.len()));
                None
            }
        }
    }

    fn find(&self, key: &str, value: &str) -> Option<&Node> {
        let known = self.keys.get(key)?;
        let started = || known.by_start.iter().find(|(start, _)| value.starts_with(start.as_str()));
        known.by_value.get(value).or_else(|| started().map(|(_, node)| node)).or(known.any.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, below: Level) -> Node {
        let name = LimitName::new(name).unwrap();
        Node { limit: Some(DescriptorLimit { name, rule: None, enforcement: Enforcement::Refuses }), below }
    }

    fn level(entries: Vec<(&str, Values, Node)>) -> Level {
        let mut level = Level::default();
        for (key, values, node) in entries {
            assert_eq!(level.insert(key.to_owned(), values, node), None);
        }
        level
    }

    #[test]
    fn the_most_particular_value_is_the_one_that_is_found() {
        let inner = level(vec![("path", Values::Any, node("inner", Level::default()))]);
        let entries = vec![
            ("user", Values::Any, node("any", inner)),
            ("user", Values::StartsWith("a".to_owned()), node("a-some", Level::default())),
            ("user", Values::StartsWith("al".to_owned()), node("al-some", Level::default())),
            ("user", Values::Is("alice".to_owned()), node("alice", Level::default())),
        ];
        let domains = [("edge".to_owned(), level(entries))].into();
        let all = Descriptors::new(domains);
        let name = |entries: &[(&str, &str)]| {
            all.find("edge", entries.iter().copied()).map(|limit| limit.name.as_str().to_owned())
        };
        assert_eq!(name(&[("user", "alice")]).as_deref(), Some("alice"));
        assert_eq!(name(&[("user", "alan")]).as_deref(), Some("al-some"));
        assert_eq!(name(&[("user", "ann")]).as_deref(), Some("a-some"));
        assert_eq!(name(&[("user", "")]).as_deref(), Some("any"));
        assert_eq!(name(&[("user", "bob"), ("path", "/")]).as_deref(), Some("inner"));
        assert_eq!(name(&[("user", "alice"), ("path", "/")]), None, "nothing follows alice");
        assert_eq!(name(&[("path", "/")]), None);
        assert_eq!(name(&[]), None);
        assert_eq!(all.find("other", [("user", "alice")]), None);
    }

    #[test]
    fn what_was_said_before_is_given_back() {
        let mut level = Level::default();
        for values in [Values::Any, Values::Is("a".to_owned()), Values::StartsWith("a".to_owned())] {
            assert_eq!(level.insert("k".to_owned(), values.clone(), Node::default()), None);
            assert_eq!(level.insert("k".to_owned(), values, Node::default()), Some(Node::default()));
        }
    }
}
