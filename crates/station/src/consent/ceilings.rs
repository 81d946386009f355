//! The operator's ceilings, from a TOML file.

use super::grant::Rates;
use super::network::IpNetwork;
use super::transport::{Cast, FlowTransport};
use crate::refusal::{ConsentRule, Refusal, require};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::str::FromStr;

/// The serial number of a certificate: hexadecimal digits, with colons or without, as programs
/// print it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct CertificateSerial(String);

impl FromStr for CertificateSerial {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.replace(':', "").to_ascii_lowercase();
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(format!("{text}: must be a serial number in hexadecimal digits"));
        }
        Ok(Self(digits.to_owned()))
    }
}

impl TryFrom<String> for CertificateSerial {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<CertificateSerial> for String {
    fn from(serial: CertificateSerial) -> Self {
        serial.0
    }
}

impl CertificateSerial {
    /// Whether it is the number with these octets, the highest first.
    #[must_use]
    pub fn is(&self, octets: &[u8]) -> bool {
        let halves = octets.iter().flat_map(|octet| [octet >> 4, octet & 15]);
        let digits = halves.map(|half| char::from_digit(half.into(), 16));
        digits.skip_while(|digit| *digit == Some('0')).eq(self.0.chars().map(Some))
    }
}

/// What the operator of an agent's host allows at most.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Ceilings {
    /// Bits per second of all flows in one direction together, frames counted from destination
    /// address to FCS.
    pub rate_bps: u64,
    /// Frames per second of all flows in one direction together.
    pub rate_frames_per_s: u64,
    /// Seconds of one experiment, from its beginning to the end of its drain.
    pub duration_s: u64,
    /// Experiments at once.
    pub tests_at_once: usize,
    /// Roles of one experiment.
    pub roles: usize,
    /// Addresses of stations, our own ones and the others'.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub addresses: Vec<IpNetwork>,
    /// Interfaces that may be used; all without.
    pub interfaces: Option<Vec<String>>,
    /// Kinds of groups that may be sent to and listened to: `multicast`, `broadcast`. Strangers on
    /// the segment hear them and are not asked.
    pub groups: Vec<Cast>,
    /// Highest priority of frames, 0 to 7. Switches serve 6 and 7 before their own control traffic,
    /// or as it (802.1Q-2022 table I-2).
    pub priority: u8,
    /// Certificates that are not accepted any more.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub revoked: Vec<CertificateSerial>,
}

impl Default for Ceilings {
    /// The loopback interface only.
    fn default() -> Self {
        let network = |text: &str| text.parse().expect("written correctly");
        Self {
            rate_bps: 10_000_000_000,
            rate_frames_per_s: 2_000_000,
            duration_s: 60,
            tests_at_once: 1,
            roles: 64,
            addresses: vec![network("127.0.0.0/8"), network("::1/128")],
            interfaces: None,
            groups: Vec::new(),
            priority: 5,
            revoked: Vec::new(),
        }
    }
}

impl Ceilings {
    /// Read a TOML file's text.
    ///
    /// # Errors
    /// If it is no TOML, or a key is unknown or its value of the wrong kind.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Whether a flow may run up to `rates` while others in its direction have been allowed
    /// `booked`.
    pub(super) fn check_rates(&self, rates: Rates, booked: Rates) -> Result<(), Refusal> {
        let check = |rule, requested: u64, booked: u64, most: u64, unit: &str| {
            let left = most.saturating_sub(booked);
            let others =
                if booked > 0 { format!(", for other flows have {booked}") } else { String::new() };
            let allowed = format!("1 to {left} {unit}{others}");
            require(
                (1..=left).contains(&requested),
                rule,
                format_args!("{requested} {unit}"),
                allowed,
            )
        };
        check(ConsentRule::RateBits, rates.bps, booked.bps, self.rate_bps, "bit/s")?;
        check(
            ConsentRule::RateFrames,
            rates.frames_per_s,
            booked.frames_per_s,
            self.rate_frames_per_s,
            "frames/s",
        )
    }

    /// Whether an experiment may last so long.
    pub(super) fn check_duration(&self, duration_ns: u64) -> Result<(), Refusal> {
        let most_ns = self.duration_s.saturating_mul(1_000_000_000);
        let allowed = format!("1 to {most_ns} ns");
        require(
            (1..=most_ns).contains(&duration_ns),
            ConsentRule::Duration,
            format_args!("{duration_ns} ns"),
            allowed,
        )
    }

    /// Whether a station may be at `address`.
    pub(super) fn check_address(&self, address: IpAddr) -> Result<(), Refusal> {
        let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
        let is_one = !address.is_multicast() && !address.is_unspecified() && !is_broadcast;
        require(
            is_one,
            ConsentRule::Address,
            address,
            "the address of one station: a group cannot grant",
        )?;
        let ranges: Vec<String> = self.addresses.iter().map(|&network| network.into()).collect();
        let is_allowed = self.addresses.iter().any(|network| network.contains(address));
        require(is_allowed, ConsentRule::Address, address, ranges.join(", "))
    }

    /// Whether frames may go to as many.
    pub(super) fn check_cast(&self, transport: FlowTransport) -> Result<(), Refusal> {
        let words: Vec<&str> =
            [Cast::Unicast].iter().chain(&self.groups).map(|cast| cast.word()).collect();
        let is_allowed = !transport.is_group() || self.groups.contains(&transport.cast);
        require(is_allowed, ConsentRule::Groups, transport.cast.word(), words.join(", "))
    }

    /// Whether frames may have the priority.
    pub(super) fn check_priority(&self, transport: FlowTransport) -> Result<(), Refusal> {
        let Some(priority) = transport.priority else { return Ok(()) };
        let allowed = format!("none, or 0 to {}", self.priority);
        require(
            priority <= self.priority,
            ConsentRule::Priority,
            format_args!("priority {priority}"),
            allowed,
        )
    }

    /// Whether an own address on `interface` may be used.
    pub(super) fn check_interface(&self, interface: Option<&str>) -> Result<(), Refusal> {
        let Some(allowed) = &self.interfaces else { return Ok(()) };
        let is_allowed =
            interface.is_some_and(|name| allowed.iter().any(|allowed_name| allowed_name == name));
        require(
            is_allowed,
            ConsentRule::Interface,
            interface.unwrap_or("an address of no interface"),
            allowed.join(", "),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_unknown_key_of_the_operators_file_is_refused_by_name() {
        let fault = Ceilings::parse("rate_bsp = 3").expect_err("misspelt");
        assert!(fault.contains("rate_bsp") && fault.contains("rate_bps"), "{fault}");
    }

    #[test]
    fn a_serial_number_is_the_same_however_it_is_written() {
        for text in ["0a:FF", "aff", "0AFF"] {
            let serial: CertificateSerial = text.parse().expect("a serial number");
            assert!(serial.is(&[0x0A, 0xFF]) && serial.is(&[0, 0x0A, 0xFF]), "{text}");
            assert!(!serial.is(&[0x0A]) && !serial.is(&[0xFF, 0x0A]), "{text}");
        }
        for text in ["", "0", "serial", "12 34"] {
            assert!(text.parse::<CertificateSerial>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_the_operator_does_not_say_stays_on_loopback() {
        let ceilings = Ceilings::parse("duration_s = 5").expect("a file");
        assert_eq!(ceilings, Ceilings { duration_s: 5, ..Ceilings::default() });
        assert!(ceilings.check_address("192.0.2.1".parse().expect("an address")).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_ceilings_panic(text in "(\\PC{0,9}|rate_bps|addresses|= |\\[|\"|/|[0-9]{1,22}|\n){0,40}") {
            let _ = Ceilings::parse(&text);
            let _ = text.parse::<IpNetwork>();
        }
    }
}
