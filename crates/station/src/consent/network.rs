//! Ranges of addresses.

use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::str::FromStr;

/// A range of addresses: `10.0.0.0/8`, `::1/128`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct IpNetwork {
    address: IpAddr,
    bits: u8,
}

impl FromStr for IpNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || {
            format!("{text}: must be an address or a range of them such as 10.0.0.0/8 or fd00::/8")
        };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| fault())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| fault())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most {
            return Err(fault());
        }
        Ok(Self { address, bits })
    }
}

impl TryFrom<String> for IpNetwork {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<IpNetwork> for String {
    fn from(network: IpNetwork) -> Self {
        format!("{}/{}", network.address, network.bits)
    }
}

impl IpNetwork {
    /// The addresses that share the first `bits` with `address`; of more bits than it has, itself.
    #[must_use]
    pub fn of(address: IpAddr, bits: u8) -> Self {
        let most = if address.is_ipv4() { 32 } else { 128 };
        Self { address, bits: bits.min(most) }
    }

    /// The address that it was made of.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Whether `address` is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                let beyond = 32 - u32::from(self.bits);
                let differing = ours.to_bits() ^ theirs.to_bits();
                differing.checked_shr(beyond).unwrap_or(0) == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                let beyond = 128 - u32::from(self.bits);
                let differing = ours.to_bits() ^ theirs.to_bits();
                differing.checked_shr(beyond).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_its_addresses_and_no_others() {
        let cases = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.2", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "2001:db8::1", true),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe80::1", false),
            ("::/0", "10.0.0.1", false),
        ];
        for (range, address, expected) in cases {
            let network: IpNetwork = range.parse().expect("a range");
            assert_eq!(
                network.contains(address.parse().expect("an address")),
                expected,
                "{range} {address}"
            );
        }
    }
}
