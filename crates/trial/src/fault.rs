//! What is wrong with a trial, and where.

use std::borrow::Cow;
use std::fmt;

/// A step of a path: a key of a table, or an index of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A key of a table.
    Key(Cow<'static, str>),
    /// An index of a list, from 0.
    Index(usize),
}

impl From<&'static str> for Step {
    fn from(key: &'static str) -> Self {
        Self::Key(Cow::Borrowed(key))
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// Keys and indices from the scenario to a value, written as `flows[3].frames`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(Vec<Step>);

impl Path {
    /// The steps, from the outermost.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }
}

impl From<Vec<Step>> for Path {
    fn from(steps: Vec<Step>) -> Self {
        Self(steps)
    }
}

impl From<&str> for Path {
    fn from(text: &str) -> Self {
        let mut steps = Vec::new();
        for part in text.split('.') {
            let mut indices = part.split('[');
            let key = indices.next().unwrap_or_default();
            if !key.is_empty() {
                steps.push(Step::Key(Cow::Owned(key.to_owned())));
            }
            for index in indices {
                let index = index.trim_end_matches(']');
                steps.push(match index.parse() {
                    Ok(number) => Step::Index(number),
                    Err(_) => Step::Key(Cow::Owned(index.to_owned())),
                });
            }
        }
        Self(steps)
    }
}

impl From<String> for Path {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(".");
        }
        for (number, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if number == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl PartialEq<&str> for Path {
    fn eq(&self, text: &&str) -> bool {
        let path = Self::from(*text);
        self.0 == path.0
    }
}

/// What is allowed where a fault is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// An integer in a range, both ends included.
    Range(i128, i128),
    /// The value must be this, for example `the name of a node`.
    Value(String),
    /// The key must not be given, and why, for example ` with a coder`.
    Absent(String),
    /// A sentence about several values.
    Words(String),
}

impl Allowed {
    /// What an error message about a file says of it.
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Range(least, most) => format!("expected from {least} to {most}"),
            Self::Value(value) => format!("expected {value}"),
            Self::Absent(reason) => format!("not allowed{reason}"),
            Self::Words(words) => words.clone(),
        }
    }
}

impl From<&str> for Allowed {
    fn from(words: &str) -> Self {
        if let Some(value) = words.strip_prefix("must be ") {
            return Self::Value(value.to_owned());
        }
        match words.strip_prefix("must not be given") {
            Some(reason) => Self::Absent(reason.to_owned()),
            None => Self::Words(words.to_owned()),
        }
    }
}

impl From<String> for Allowed {
    fn from(words: String) -> Self {
        Self::from(words.as_str())
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(least, most) => write!(f, "must be from {least} to {most}"),
            Self::Value(value) => write!(f, "must be {value}"),
            Self::Absent(reason) => write!(f, "must not be given{reason}"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

/// A value that is out of range, contradicts another or has the wrong shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Path of the key within the scenario.
    pub path: Path,
    /// The value found; `None` where it is a whole table, or missing.
    pub value: Option<String>,
    /// What is allowed.
    pub allowed: Allowed,
}

impl Fault {
    /// A fault at a path, without a value.
    pub fn new(path: impl Into<Path>, allowed: impl Into<Allowed>) -> Self {
        Self { path: path.into(), value: None, allowed: allowed.into() }
    }

    /// The same fault with the value found.
    #[must_use]
    pub fn got(self, value: impl fmt::Display) -> Self {
        Self { value: Some(value.to_string()), ..self }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.allowed)?;
        self.value.as_ref().map_or(Ok(()), |value| write!(f, ", got {value}"))
    }
}

impl std::error::Error for Fault {}

/// Faults found so far, and the path of the value that is being checked.
#[derive(Debug, Default)]
pub struct Faults {
    path: Vec<Step>,
    found: Vec<Fault>,
}

impl Faults {
    /// All of them, in the order in which they were found.
    #[must_use]
    pub fn into_vec(self) -> Vec<Fault> {
        self.found
    }

    /// How many there are so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// Whether there are none so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Check something one step further in. Whether it has no fault.
    pub fn within(&mut self, step: impl Into<Step>, check: impl FnOnce(&mut Self)) -> bool {
        let before = self.found.len();
        self.path.push(step.into());
        check(self);
        self.path.pop();
        self.found.len() == before
    }

    /// Check something further in, at a path such as `nodes[3].kind`. Whether it has no fault.
    pub fn within_path(&mut self, path: &str, check: impl FnOnce(&mut Self)) -> bool {
        let (before, depth) = (self.found.len(), self.path.len());
        self.path.extend_from_slice(Path::from(path).steps());
        check(self);
        self.path.truncate(depth);
        self.found.len() == before
    }

    /// Add the fault of a key, or with an empty key of the value that is being checked.
    pub fn add(&mut self, key: &str, allowed: impl Into<Allowed>) {
        self.add_found(key, None, allowed);
    }

    /// Add the fault of a key with the value found.
    pub fn add_value(&mut self, key: &str, value: impl fmt::Display, allowed: impl Into<Allowed>) {
        self.add_found(key, Some(value.to_string()), allowed);
    }

    /// Add the fault of a key with the value found, if it is one.
    pub fn add_found(&mut self, key: &str, value: Option<String>, allowed: impl Into<Allowed>) {
        let mut steps = self.path.clone();
        steps.extend_from_slice(Path::from(key).steps());
        self.found.push(Fault { value, ..Fault::new(steps, allowed) });
    }

    /// A number, if there is one, must be from `least` to `most`. Whether it is.
    pub fn range(&mut self, key: &str, number: impl Number, least: i128, most: i128) -> bool {
        let Some(number) = number.number().filter(|number| !(least..=most).contains(number)) else {
            return true;
        };
        self.add_value(key, number, Allowed::Range(least, most));
        false
    }
}

/// A list has at most so many entries.
pub(crate) fn check_count(count: usize, most: usize, faults: &mut Faults) {
    if count > most {
        faults.add_value("", format!("{count} of them"), format!("must be at most {most} of them"));
    }
}

/// A limit as an integer of JSON.
#[cfg(feature = "schema")]
pub(crate) fn json_integer(limit: i128) -> i64 {
    i64::try_from(limit).expect("limits are far below 2^63")
}

/// An integer that may be absent.
pub trait Number {
    /// The integer.
    fn number(self) -> Option<i128>;
}

macro_rules! numbers {
    ($($kind:ty),*) => {$(
        impl Number for $kind {
            fn number(self) -> Option<i128> {
                Some(self.into())
            }
        }

        impl Number for Option<$kind> {
            fn number(self) -> Option<i128> {
                self.map(Into::into)
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, i64);

/// A value that can be checked on its own: ranges of its fields, and what they contradict of each
/// other. The attribute `table` implements it.
pub trait Checked {
    /// Add all faults of the value.
    fn check(&self, faults: &mut Faults);
}

macro_rules! plain {
    ($($kind:ty),*) => {$(
        impl Checked for $kind {
            fn check(&self, _: &mut Faults) {}
        }
    )*};
}

plain!(bool, u8, u16, u32, u64, i64, f64, String);

impl<T: Checked> Checked for [T] {
    fn check(&self, faults: &mut Faults) {
        for (index, each) in self.iter().enumerate() {
            faults.within(index, |faults| each.check(faults));
        }
    }
}

impl<T: Checked> Checked for Vec<T> {
    fn check(&self, faults: &mut Faults) {
        self[..].check(faults);
    }
}

impl<T: Checked, const N: usize> Checked for [T; N] {
    fn check(&self, faults: &mut Faults) {
        self[..].check(faults);
    }
}

impl<T: Checked> Checked for Option<T> {
    fn check(&self, faults: &mut Faults) {
        if let Some(value) = self {
            value.check(faults);
        }
    }
}

impl<T: Checked> Checked for Box<T> {
    fn check(&self, faults: &mut Faults) {
        (**self).check(faults);
    }
}

/// `value` must be from `least` to `most`.
///
/// # Errors
/// If it is not.
pub fn check_range(path: &str, value: u64, least: u64, most: u64) -> Result<(), Fault> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Fault::new(path, Allowed::Range(least.into(), most.into())).got(value))
}
