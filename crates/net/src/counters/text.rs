//! Texts in which the kernel reports counters.

use crate::Error;
use std::fs;

/// The text of a file of counters.
pub(super) fn read(path: &'static str) -> Result<String, Error> {
    fs::read_to_string(path).map_err(Error::system("reading the kernel's counters"))
}

/// The numbers of a line, as far as they are numbers.
pub(super) fn numbers(line: &str) -> impl Iterator<Item = u64> + '_ {
    line.split_ascii_whitespace().map_while(|word| word.parse().ok())
}
