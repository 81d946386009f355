//! What is wrong with a trial, and where.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A value that is out of range, contradicts another or has the wrong shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Path of the key within the scenario, for example `flows[3].frames`.
    pub path: String,
    /// The value found; null where it is a whole table, or missing.
    pub value: Option<String>,
    /// What is allowed, for example `must be from 1 to 1024`.
    pub allowed: String,
}

impl Fault {
    /// A fault at a path, without a value.
    pub fn new(path: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { path: path.into(), value: None, allowed: allowed.into() }
    }

    /// The same fault with the value found.
    #[must_use]
    pub fn got(self, value: impl fmt::Display) -> Self {
        Self { value: Some(value.to_string()), ..self }
    }

    /// The same fault one level further up: `head` goes before the path.
    #[must_use]
    pub fn within(self, head: &str) -> Self {
        Self { path: format!("{head}{}", self.path), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.allowed)?;
        self.value.as_ref().map_or(Ok(()), |value| write!(f, ", got {value}"))
    }
}

impl std::error::Error for Fault {}

/// `value` must be from `least` to `most`.
///
/// # Errors
/// If it is not.
pub fn check_range(path: &str, value: u64, least: u64, most: u64) -> Result<(), Fault> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Fault::new(path, format!("must be from {least} to {most}")).got(value))
}
