//! Objects, field by field.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use sluicegate_core::file::closest;

use super::{Leaf, Place, Wrong};

/// What an object of a body becomes.
pub(in crate::decision) trait Object<'b>: Default {
    /// Takes one field.
    fn field<A: MapAccess<'b>>(
        &mut self,
        name: &Cow<'b, str>,
        value: Value<'_, 'b, A>,
    ) -> Result<(), A::Error>;

    /// Whether something is missing or does not go together: the field, and the end of a sentence that starts with it.
    fn lacks(&self) -> Option<(&'static str, &'static str)> {
        None
    }
}

/// The fields of an object that were met already.
#[derive(Debug, Default)]
pub(in crate::decision) struct Seen(u32);

impl Seen {
    /// The place of a field among the known ones, which it takes only once.
    pub(in crate::decision) fn admit<'b, A: MapAccess<'b>>(
        &mut self,
        known: &[&'static str],
        name: &str,
        value: &mut Value<'_, 'b, A>,
    ) -> Result<usize, A::Error> {
        let Some(index) = known.iter().position(|known| *known == name) else {
            return Err(value.wrong(&match closest(name, known.iter().copied()) {
                Some(meant) => format!("is not a field here; did you mean \"{meant}\"?"),
                None => format!("is not a field here; there are {}.", known.join(", ")),
            }));
        };
        if self.0 & (1 << index) != 0 {
            return Err(value.wrong("stands twice."));
        }
        self.0 |= 1 << index;
        Ok(index)
    }
}

/// The value of one field, not yet read.
pub(in crate::decision) struct Value<'v, 'b, A> {
    map: &'v mut A,
    place: Place<'v>,
    wrong: &'v mut Option<Wrong>,
    body: PhantomData<&'b ()>,
}

impl<'b, A: MapAccess<'b>> Value<'_, 'b, A> {
    /// Something is wrong with it: the end of a sentence that starts with the field.
    #[cold]
    pub(in crate::decision) fn wrong(&mut self, problem: &str) -> A::Error {
        fail(self.wrong, &self.place, problem)
    }

    /// A text that passes a check, which else says what is expected. Nothing for `null`.
    pub(in crate::decision) fn text<T>(
        mut self,
        check: impl FnOnce(Cow<'b, str>) -> Result<T, &'static str>,
    ) -> Result<Option<T>, A::Error> {
        match self.map.next_value()? {
            Leaf::Null => Ok(None),
            Leaf::Text(text) => {
                check(text).map(Some).map_err(|expected| self.wrong(&format!("must be {expected}.")))
            }
            other => Err(self.wrong(&format!("must be text; this is {other}."))),
        }
    }

    /// A whole number within a range. Nothing for `null`.
    pub(in crate::decision) fn number(mut self, range: RangeInclusive<u64>) -> Result<Option<u64>, A::Error> {
        match self.map.next_value()? {
            Leaf::Null => Ok(None),
            Leaf::Whole(number) if range.contains(&number) => Ok(Some(number)),
            other => {
                let (first, last) = range.into_inner();
                Err(self.wrong(&format!("must be a whole number from {first} to {last}; this is {other}.")))
            }
        }
    }

    /// `true` or `false`. Nothing for `null`.
    pub(in crate::decision) fn boolean(mut self) -> Result<Option<bool>, A::Error> {
        match self.map.next_value()? {
            Leaf::Null => Ok(None),
            Leaf::Bool(value) => Ok(Some(value)),
            other => Err(self.wrong(&format!("must be true or false; this is {other}."))),
        }
    }

    /// An object. Nothing for `null`.
    pub(in crate::decision) fn object<O: Object<'b>>(self) -> Result<Option<O>, A::Error> {
        let Self { map, place, wrong, .. } = self;
        map.next_value_seed(ObjectSeed::new(place, wrong))
    }

    /// A list of objects, no longer than `max`.
    pub(in crate::decision) fn objects<O: Object<'b>>(self, max: usize) -> Result<Vec<O>, A::Error> {
        let Self { map, place, wrong, .. } = self;
        map.next_value_seed(ListSeed { place, wrong, max, item: PhantomData })
    }
}

#[cold]
fn fail<E: Error>(wrong: &mut Option<Wrong>, place: &Place<'_>, problem: &str) -> E {
    *wrong = Some(match place {
        Place::Body => Wrong { field: None, detail: format!("The body {problem}") },
        place => Wrong { field: Some(place.to_string()), detail: format!("\"{place}\" {problem}") },
    });
    E::custom("see what is wrong")
}

/// The visits of values that are neither a list nor an object, nor `null`.
macro_rules! refuse_scalars {
    () => {
        fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
            Err(self.refuse(&Leaf::Bool(value)))
        }

        fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
            Err(self.refuse(&Leaf::Whole(value)))
        }

        fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
            Err(self.refuse(&Leaf::Negative(value)))
        }

        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Err(self.refuse(&Leaf::Fraction))
        }

        fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
            Err(self.refuse(&Leaf::Text(Cow::Borrowed(""))))
        }
    };
}

/// Reads one object. Nothing for `null`.
pub(super) struct ObjectSeed<'s, O> {
    place: Place<'s>,
    wrong: &'s mut Option<Wrong>,
    object: PhantomData<O>,
}

impl<'s, O> ObjectSeed<'s, O> {
    pub(super) fn new(place: Place<'s>, wrong: &'s mut Option<Wrong>) -> Self {
        Self { place, wrong, object: PhantomData }
    }

    pub(super) fn refuse<E: Error>(self, found: &Leaf<'_>) -> E {
        fail(self.wrong, &self.place, &format!("must be a JSON object; this is {found}."))
    }
}

impl<'b, O: Object<'b>> DeserializeSeed<'b> for ObjectSeed<'_, O> {
    type Value = Option<O>;

    fn deserialize<D: Deserializer<'b>>(self, deserializer: D) -> Result<Option<O>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'b, O: Object<'b>> Visitor<'b> for ObjectSeed<'_, O> {
    type Value = Option<O>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<Option<O>, A::Error> {
        let Self { place, wrong, .. } = self;
        let mut object = O::default();
        while let Some(Name(name)) = map.next_key()? {
            let place = Place::Field(&place, &name);
            object.field(&name, Value { map: &mut map, place, wrong, body: PhantomData })?;
        }
        match object.lacks() {
            None => Ok(Some(object)),
            Some((name, problem)) => Err(fail(wrong, &Place::Field(&place, name), problem)),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<Option<O>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'b>>(self, _: A) -> Result<Option<O>, A::Error> {
        Err(self.refuse(&Leaf::List))
    }

    refuse_scalars!();
}

/// The name of a field.
struct Name<'b>(Cow<'b, str>);

impl<'b> serde::Deserialize<'b> for Name<'b> {
    fn deserialize<D: Deserializer<'b>>(deserializer: D) -> Result<Self, D::Error> {
        match Leaf::deserialize(deserializer)? {
            Leaf::Text(name) => Ok(Self(name)),
            other => Err(D::Error::custom(format_args!("the name of a field is {other}"))),
        }
    }
}

/// Reads a list of objects.
struct ListSeed<'s, O> {
    place: Place<'s>,
    wrong: &'s mut Option<Wrong>,
    max: usize,
    item: PhantomData<O>,
}

impl<O> ListSeed<'_, O> {
    fn refuse<E: Error>(self, found: &Leaf<'_>) -> E {
        fail(self.wrong, &self.place, &format!("must be a list; this is {found}."))
    }
}

impl<'b, O: Object<'b>> DeserializeSeed<'b> for ListSeed<'_, O> {
    type Value = Vec<O>;

    fn deserialize<D: Deserializer<'b>>(self, deserializer: D) -> Result<Vec<O>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'b, O: Object<'b>> Visitor<'b> for ListSeed<'_, O> {
    type Value = Vec<O>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_map<A: MapAccess<'b>>(self, _: A) -> Result<Vec<O>, A::Error> {
        Err(self.refuse(&Leaf::Object))
    }

    fn visit_unit<E: Error>(self) -> Result<Vec<O>, E> {
        Err(self.refuse(&Leaf::Null))
    }

    refuse_scalars!();

    fn visit_seq<A: SeqAccess<'b>>(self, mut list: A) -> Result<Vec<O>, A::Error> {
        let mut items = Vec::new();
        loop {
            let place = Place::Item(&self.place, items.len());
            match list.next_element_seed(ObjectSeed::new(place, self.wrong))? {
                None => return Ok(items),
                Some(_) if items.len() == self.max => {
                    let problem = format!("must have at most {} elements.", self.max);
                    return Err(fail(self.wrong, &self.place, &problem));
                }
                Some(None) => return Err(ObjectSeed::<O>::new(place, self.wrong).refuse(&Leaf::Null)),
                Some(Some(item)) => items.push(item),
            }
        }
    }
}
