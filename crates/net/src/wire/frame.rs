//! Raw frames as a station writes and reads them: from the destination address to before the FCS.

use super::octets::{WireError, check_octets, octets_at};
use ethermeter_ethernet::Carrier;
use ethermeter_ethernet::frame::{HEADER, LOCAL_EXPERIMENTAL_1, TAG, TAG_TYPE};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Octets before the payload of a frame without a tag.
#[allow(clippy::cast_possible_truncation)] // 14
pub const HEADER_OCTETS: usize = HEADER.0 as usize;
/// Octets before the payload of a frame with a tag.
#[allow(clippy::cast_possible_truncation)] // 18
pub const TAGGED_HEADER_OCTETS: usize = (HEADER.0 + TAG.0) as usize;
/// Place of the tag, or of the type without one.
const TYPE_AT: usize = HEADER_OCTETS - 2;
/// Place of the priority in a tag's control information (802.1Q-2022 § 9.6); the rest is 0: no
/// VLAN.
const PRIORITY_SHIFT: u32 = 13;

/// The address of a station on an Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// All stations.
    pub const BROADCAST: Self = Self([0xFF; 6]);

    /// Whether it stands for a group of stations (802.3-2022 § 3.2.3).
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.map(|octet| format!("{octet:02x}"));
        f.write_str(&shown.join(":"))
    }
}

/// Why text is not an Ethernet address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an Ethernet address such as 02:00:00:00:00:01")]
pub struct MacAddressError(String);

impl std::str::FromStr for MacAddress {
    type Err = MacAddressError;

    fn from_str(text: &str) -> Result<Self, MacAddressError> {
        let no = || MacAddressError(text.chars().take(80).collect());
        let mut octets = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts
                .next()
                .filter(|part| part.len() == 2 && !part.contains('+'))
                .ok_or_else(no)?;
            *octet = u8::from_str_radix(part, 16).map_err(|_| no())?;
        }
        if parts.next().is_some() {
            return Err(no());
        }
        Ok(Self(octets))
    }
}

impl TryFrom<String> for MacAddress {
    type Error = MacAddressError;

    fn try_from(text: String) -> Result<Self, MacAddressError> {
        text.parse()
    }
}

impl From<MacAddress> for String {
    fn from(mac: MacAddress) -> Self {
        mac.to_string()
    }
}

/// What stands before the payload of a frame, its type aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The destination; may be a group.
    pub destination: MacAddress,
    /// The source.
    pub source: MacAddress,
    /// The priority in its tag, 0 to 7; a frame without one has no tag.
    pub priority: Option<u8>,
}

/// A window over a frame of our `EtherType`, without its FCS.
#[derive(Clone, Copy, Debug)]
pub struct FrameWindow<B> {
    octets: B,
}

impl<B: AsRef<[u8]>> FrameWindow<B> {
    /// A window over a frame; reading the fields does not panic after this.
    ///
    /// # Errors
    /// If it is too short or of another `EtherType`.
    pub fn checked(octets: B) -> Result<Self, WireError> {
        check_octets(octets.as_ref(), HEADER_OCTETS)?;
        let window = Self { octets };
        if window.is_tagged() {
            check_octets(window.octets.as_ref(), TAGGED_HEADER_OCTETS)?;
        }
        match window.word(window.header_octets() - 2) {
            LOCAL_EXPERIMENTAL_1 => Ok(window),
            other => Err(WireError::ForeignType(other)),
        }
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes(octets_at(self.octets.as_ref(), at))
    }

    fn is_tagged(&self) -> bool {
        self.word(TYPE_AT) == TAG_TYPE
    }

    fn header_octets(&self) -> usize {
        if self.is_tagged() { TAGGED_HEADER_OCTETS } else { HEADER_OCTETS }
    }

    /// Header of the frame.
    pub fn header(&self) -> FrameHeader {
        let octets = self.octets.as_ref();
        let priority = || (self.word(TYPE_AT + 2) >> PRIORITY_SHIFT).to_be_bytes()[1];
        FrameHeader {
            destination: MacAddress(octets_at(octets, 0)),
            source: MacAddress(octets_at(octets, 6)),
            priority: self.is_tagged().then(priority),
        }
    }

    /// What it carries, padding included.
    pub fn payload(&self) -> &[u8] {
        &self.octets.as_ref()[self.header_octets()..]
    }
}

impl FrameHeader {
    /// How many octets it has.
    #[must_use]
    pub const fn octets(&self) -> usize {
        if self.priority.is_some() { TAGGED_HEADER_OCTETS } else { HEADER_OCTETS }
    }

    /// What frames with it carry their payloads in.
    #[must_use]
    pub const fn carrier(&self) -> Carrier {
        if self.priority.is_some() { Carrier::TaggedRaw } else { Carrier::Raw }
    }

    /// Write it, with our `EtherType`.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn emit(&self, frame: &mut [u8]) {
        frame[..6].copy_from_slice(&self.destination.0);
        frame[6..TYPE_AT].copy_from_slice(&self.source.0);
        let octets = self.octets();
        if let Some(priority) = self.priority {
            let control = u16::from(priority) << PRIORITY_SHIFT;
            frame[TYPE_AT..TYPE_AT + 2].copy_from_slice(&TAG_TYPE.to_be_bytes());
            frame[TYPE_AT + 2..TYPE_AT + 4].copy_from_slice(&control.to_be_bytes());
        }
        frame[octets - 2..octets].copy_from_slice(&LOCAL_EXPERIMENTAL_1.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_octets_make_reading_panic(
            mut octets in proptest::collection::vec(any::<u8>(), 0..64),
            priority in proptest::option::of(0..8u8),
            dress: bool,
        ) {
            let header = FrameHeader { destination: MacAddress([3; 6]), source: MacAddress([4; 6]), priority };
            if dress && octets.len() >= header.octets() {
                header.emit(&mut octets);
            }
            match FrameWindow::checked(&octets) {
                Ok(window) => {
                    let mut again = vec![0; octets.len()];
                    let header = window.header();
                    header.emit(&mut again);
                    again[header.octets()..].copy_from_slice(window.payload());
                    prop_assert_eq!(&again, &octets);
                }
                Err(WireError::TooShort { .. }) => prop_assert!(octets.len() < TAGGED_HEADER_OCTETS),
                Err(error) => prop_assert!(matches!(error, WireError::ForeignType(_)), "{}", error),
            }
        }

        #[test]
        fn an_address_is_read_as_it_is_shown(octets: [u8; 6]) {
            prop_assert_eq!(MacAddress(octets).to_string().parse(), Ok(MacAddress(octets)));
        }

        #[test]
        fn no_text_makes_reading_an_address_panic(text in "\\PC{0,30}") {
            if let Ok(mac) = text.parse::<MacAddress>() {
                prop_assert_eq!(mac.to_string(), text.to_lowercase());
            }
        }
    }

    #[test]
    fn the_priority_is_in_the_three_highest_bits_of_the_tag() {
        let mut frame = [0; TAGGED_HEADER_OCTETS];
        let destination = MacAddress([2, 0, 0, 0, 0, 1]);
        FrameHeader { destination, source: MacAddress([2, 0, 0, 0, 0, 2]), priority: Some(5) }
            .emit(&mut frame);
        assert_eq!(frame[12..], [0x81, 0x00, 0xA0, 0x00, 0x88, 0xB5]);
    }

    #[test]
    fn groups_are_told_by_the_first_bit_sent() {
        assert!(MacAddress::BROADCAST.is_group());
        assert!(!MacAddress([2, 0, 0, 0, 0, 1]).is_group());
        assert!("01:00:5e:00:00:01".parse::<MacAddress>().expect("an address").is_group());
    }
}
