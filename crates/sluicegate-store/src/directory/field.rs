//! Values that people give: each is checked once, and says which field is wrong and why.

use std::fmt;

use jiff::tz::TimeZone;
use sluicegate_core::calendar::BillingDay;
use sluicegate_core::invisible::is_invisible;

/// A value that cannot be taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldError {
    /// Which field.
    pub field: &'static str,
    /// What is wrong with it, as the end of a sentence that starts with the field.
    pub problem: String,
}

impl FieldError {
    pub(crate) fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.problem)
    }
}

impl std::error::Error for FieldError {}

/// What people call an account or a key: up to 200 characters on one line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DisplayName(String);

impl DisplayName {
    /// The most characters a name may have.
    pub const LENGTH_MAX: usize = 200;

    /// The name, without blanks around it.
    pub fn new(name: &str) -> Result<Self, FieldError> {
        let name = name.trim();
        if name.chars().count() > Self::LENGTH_MAX {
            return Err(FieldError::new("name", format!("has more than {} characters", Self::LENGTH_MAX)));
        }
        if name.chars().any(char::is_control) {
            return Err(FieldError::new("name", "has a control character, such as a line break"));
        }
        if name.chars().any(is_invisible) {
            let problem = "has a character that is not seen or changes the direction of text";
            return Err(FieldError::new("name", problem));
        }
        Ok(Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of a time zone that is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneName(String);

impl ZoneName {
    /// The zone of this name, such as `Europe/Berlin`.
    pub fn new(name: &str) -> Result<Self, FieldError> {
        let unknown = |_| FieldError::new("timezone", "is not a time zone such as Europe/Berlin or UTC");
        let zone = TimeZone::get(name).map_err(unknown)?;
        Ok(Self(zone.iana_name().unwrap_or(name).to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// The day on which billing months begin.
pub fn billing_day(day: u8) -> Result<BillingDay, FieldError> {
    BillingDay::new(day).ok_or_else(|| FieldError::new("billing_day", "is not a day from 1 to 31"))
}

/// The body of a negotiated tier, as it was given. What it means is for others to check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CustomBody(String);

impl CustomBody {
    /// The most bytes a body may have.
    pub const BYTES_MAX: usize = 64 * 1024;

    /// The body.
    pub fn new(text: impl Into<String>) -> Result<Self, FieldError> {
        let text = text.into();
        if text.len() > Self::BYTES_MAX {
            return Err(FieldError::new("custom", format!("has more than {} bytes", Self::BYTES_MAX)));
        }
        if text.trim().is_empty() {
            return Err(FieldError::new("custom", "is empty"));
        }
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
