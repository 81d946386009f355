//! Raw frames as a station writes and reads them: from the destination address to before the FCS.

use super::octets::{check_octets, octets_at, WireError};
use ethermeter_ethernet::frame::{HEADER, LOCAL_EXPERIMENTAL_1};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Octets before the payload.
#[allow(clippy::cast_possible_truncation)] // 14
pub const HEADER_OCTETS: usize = HEADER.0 as usize;

/// The address of a station on an Ethernet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// All stations.
    pub const BROADCAST: Self = Self([0xFF; 6]);

    /// Whether it stands for a group of stations (802.3-2022 § 3.2.3).
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.map(|octet| format!("{octet:02x}"));
        f.write_str(&shown.join(":"))
    }
}

/// Why text is not an Ethernet address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an Ethernet address such as 02:00:00:00:00:01")]
pub struct NoMac(String);

impl std::str::FromStr for Mac {
    type Err = NoMac;

    fn from_str(text: &str) -> Result<Self, NoMac> {
        let no = || NoMac(text.chars().take(80).collect());
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

impl TryFrom<String> for Mac {
    type Error = NoMac;

    fn try_from(text: String) -> Result<Self, NoMac> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> Self {
        mac.to_string()
    }
}

/// From whom and to whom a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// The destination; may be a group.
    pub destination: Mac,
    /// The source.
    pub source: Mac,
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
        match window.ethertype() {
            LOCAL_EXPERIMENTAL_1 => Ok(window),
            other => Err(WireError::ForeignType(other)),
        }
    }

    fn ethertype(&self) -> u16 {
        u16::from_be_bytes(octets_at(self.octets.as_ref(), HEADER_OCTETS - 2))
    }

    /// From whom and to whom it goes.
    pub fn addresses(&self) -> Addresses {
        let octets = self.octets.as_ref();
        Addresses { destination: Mac(octets_at(octets, 0)), source: Mac(octets_at(octets, 6)) }
    }

    /// What it carries, padding included.
    pub fn payload(&self) -> &[u8] {
        &self.octets.as_ref()[HEADER_OCTETS..]
    }
}

impl Addresses {
    /// Write the header of a frame of our `EtherType`.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn emit(&self, frame: &mut [u8]) {
        frame[..6].copy_from_slice(&self.destination.0);
        frame[6..12].copy_from_slice(&self.source.0);
        frame[12..HEADER_OCTETS].copy_from_slice(&LOCAL_EXPERIMENTAL_1.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_octets_make_reading_panic(mut octets in proptest::collection::vec(any::<u8>(), 0..64), dress: bool) {
            if dress && octets.len() >= HEADER_OCTETS {
                octets[12..14].copy_from_slice(&LOCAL_EXPERIMENTAL_1.to_be_bytes());
            }
            match FrameWindow::checked(&octets) {
                Ok(window) => {
                    let mut again = vec![0; octets.len()];
                    window.addresses().emit(&mut again);
                    again[HEADER_OCTETS..].copy_from_slice(window.payload());
                    prop_assert_eq!(&again, &octets);
                }
                Err(WireError::TooShort { .. }) => prop_assert!(octets.len() < HEADER_OCTETS),
                Err(error) => prop_assert!(matches!(error, WireError::ForeignType(_)), "{}", error),
            }
        }

        #[test]
        fn an_address_is_read_as_it_is_shown(octets: [u8; 6]) {
            prop_assert_eq!(Mac(octets).to_string().parse(), Ok(Mac(octets)));
        }

        #[test]
        fn no_text_makes_reading_an_address_panic(text in "\\PC{0,30}") {
            if let Ok(mac) = text.parse::<Mac>() {
                prop_assert_eq!(mac.to_string(), text.to_lowercase());
            }
        }
    }

    #[test]
    fn groups_are_told_by_the_first_bit_sent() {
        assert!(Mac::BROADCAST.is_group());
        assert!(!Mac([2, 0, 0, 0, 0, 1]).is_group());
        assert!("01:00:5e:00:00:01".parse::<Mac>().expect("an address").is_group());
    }
}
