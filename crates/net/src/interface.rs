//! What an interface is: its MTU, driver, speed, offloads, rings, PLCA.

use crate::Error;
use crate::counters::queues;
use crate::netlink::name_octets;
use crate::plca::{PlcaFacts, plca};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};

/// Octets of the longest IP packet that an interface sends in one frame.
///
/// # Errors
/// If there is no such interface.
pub fn mtu(interface: &str) -> Result<u32, Error> {
    let request = answered(interface, libc::SIOCGIFMTU, "asking for an interface's MTU")?;
    #[expect(unsafe_code, reason = "reading one member of a union")]
    // SAFETY: the member that SIOCGIFMTU has written.
    let octets = unsafe { request.ifr_ifru.ifru_mtu };
    Ok(u32::try_from(octets).unwrap_or(0))
}

/// The name that the interface with this index has now.
///
/// # Errors
/// If there is no such interface.
pub fn name_of(index: u32) -> Result<String, Error> {
    let name =
        nix::net::if_::if_indextoname(index).map_err(Error::system("finding an interface"))?;
    Ok(name.to_string_lossy().into_owned())
}

/// Whether what an interface sends comes in again on it at once, and goes nowhere.
///
/// # Errors
/// If there is no such interface.
pub fn is_loopback(interface: &str) -> Result<bool, Error> {
    let request = answered(interface, libc::SIOCGIFFLAGS, "asking for an interface's flags")?;
    #[expect(unsafe_code, reason = "reading one member of a union")]
    // SAFETY: the member that SIOCGIFFLAGS has written.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    Ok(i32::from(flags) & libc::IFF_LOOPBACK != 0)
}

/// The answer to a request about an interface that writes an integer into it.
fn answered(
    interface: &str,
    question: libc::Ioctl,
    doing: &'static str,
) -> Result<libc::ifreq, Error> {
    let mut request = request_of(interface)?;
    let socket = any_socket()?;
    #[expect(unsafe_code, reason = "a question that no safe wrapper asks")]
    // SAFETY: the request is zeroed but for the name, and the kernel writes an integer into it.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), question, &raw mut request) };
    if status == 0 { Ok(request) } else { Err(Error::last(doing)) }
}

/// Facts of an interface; unknown ones are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterfaceFacts {
    /// Octets of the longest IP packet.
    pub mtu: Option<u32>,
    /// Name of the driver.
    pub driver: Option<String>,
    /// Version of the driver.
    pub driver_version: Option<String>,
    /// Version of the firmware.
    pub firmware: Option<String>,
    /// Where it is plugged in.
    pub bus: Option<String>,
    /// Line rate, in megabits per second.
    pub speed_mbps: Option<u32>,
    /// Whether both directions are used at the same time.
    pub is_full_duplex: Option<bool>,
    /// Work that is left to it, and work of the kernel's own that is done in larger pieces; by
    /// name.
    pub offloads: BTreeMap<String, bool>,
    /// Frames that its rings hold: receiving, sending.
    pub rings: Option<[u32; 2]>,
    /// Microseconds by which it delays interrupts: receiving, sending.
    pub interrupt_delays_us: Option<[u32; 2]>,
    /// Kinds of the queues before it, such as `fq_codel`.
    pub queues: Vec<String>,
    /// PLCA, where its PHY has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plca: Option<PlcaFacts>,
}

// linux/ethtool.h
const SETTINGS: u32 = 0x01;
const DRIVER: u32 = 0x03;
const COALESCE: u32 = 0x0E;
const RINGS: u32 = 0x10;
const FLAGS: u32 = 0x25;
/// Questions about single offloads, and bits of the flags.
const OFFLOADS: [(&str, u32); 6] = [
    ("rx-checksum", 0x14),
    ("tx-checksum", 0x16),
    ("scatter-gather", 0x18),
    ("tso", 0x1E),
    ("gso", 0x23),
    ("gro", 0x2B),
];
const OFFLOADS_OF_FLAGS: [(&str, u32); 5] = [
    ("tx-vlan", 1 << 7),
    ("rx-vlan", 1 << 8),
    ("lro", 1 << 15),
    ("ntuple", 1 << 27),
    ("rx-hash", 1 << 28),
];
const WORDS: usize = 64; // more than the longest of these answers
const SPEED_UNKNOWN: u32 = u32::MAX;

/// An answer: the words of a structure of `linux/ethtool.h`, the first of which is the question.
struct EthtoolAnswer([u32; WORDS]);

impl EthtoolAnswer {
    /// Octets of the structure.
    fn octets(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// A text of 32 octets that begins at octet `at`.
    fn text(&self, at: usize) -> Option<String> {
        let octets = self.octets();
        let text = octets[at..at + 32].split(|&octet| octet == 0).next()?;
        let text = String::from_utf8_lossy(text).trim().to_owned();
        (!text.is_empty() && text != "N/A").then_some(text)
    }

    /// A number of 16 bits at octet `at`.
    fn half(&self, at: usize) -> u32 {
        let octets = self.octets();
        u32::from(u16::from_ne_bytes([octets[at], octets[at + 1]]))
    }
}

fn query(socket: &OwnedFd, interface: &str, question: u32) -> Option<EthtoolAnswer> {
    let mut answer = EthtoolAnswer([0; WORDS]);
    answer.0[0] = question;
    let mut request = request_of(interface).ok()?;
    request.ifr_ifru.ifru_data = answer.0.as_mut_ptr().cast();
    #[expect(unsafe_code, reason = "a question that no safe wrapper asks")]
    // SAFETY: the request points to more memory than the kernel writes for each of the questions
    // asked here, and both live through the call.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    (status == 0).then_some(answer)
}

impl InterfaceFacts {
    /// Read the facts of an interface.
    ///
    /// # Errors
    /// If there is no such interface.
    pub fn of(interface: &str) -> Result<Self, Error> {
        let mtu = mtu(interface)?;
        let socket = any_socket()?;
        let query = |question| query(&socket, interface, question);
        let mut facts = Self { mtu: Some(mtu), ..Self::default() };
        if let Some(driver) = query(DRIVER) {
            (facts.driver, facts.driver_version) = (driver.text(4), driver.text(36));
            (facts.firmware, facts.bus) = (driver.text(68), driver.text(100));
        }
        if let Some(settings) = query(SETTINGS) {
            // The low half of the speed is behind three words, the high one behind seven.
            let speed = settings.half(12) | settings.half(28) << 16;
            facts.speed_mbps =
                Some(speed).filter(|&speed| speed != SPEED_UNKNOWN && speed != 0xFFFF);
            facts.is_full_duplex = match settings.octets()[14] {
                0 => Some(false),
                1 => Some(true),
                _ => None,
            };
        }
        for (name, question) in OFFLOADS {
            if let Some(answer) = query(question) {
                facts.offloads.insert(name.to_owned(), answer.0[1] != 0);
            }
        }
        if let Some(flags) = query(FLAGS) {
            facts.offloads.extend(
                OFFLOADS_OF_FLAGS.map(|(name, flag)| (name.to_owned(), flags.0[1] & flag != 0)),
            );
        }
        facts.rings = query(RINGS).map(|answer| [answer.0[5], answer.0[8]]);
        facts.interrupt_delays_us = query(COALESCE).map(|answer| [answer.0[1], answer.0[5]]);
        let index = nix::net::if_::if_nametoindex(interface).ok();
        let queues =
            queues().unwrap_or_default().into_iter().filter(|queue| Some(queue.interface) == index);
        facts.queues = queues.map(|queue| queue.kind).collect();
        facts.plca = plca(interface).ok().flatten();
        Ok(facts)
    }
}

fn any_socket() -> Result<OwnedFd, Error> {
    socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
        .map_err(Error::system("opening a socket"))
}

fn request_of(interface: &str) -> Result<libc::ifreq, Error> {
    #[expect(unsafe_code, reason = "structures of the kernel's have no constructors")]
    // SAFETY: integers, addresses and a pointer, for all of which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name_octets(interface)?) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_says_what_it_is() {
        let facts = InterfaceFacts::of("lo").expect("there is one on every host");
        // Its checksums are never computed, whatever the kernel.
        assert_eq!(facts.offloads.get("tx-checksum"), Some(&true), "{facts:?}");
        assert!(facts.mtu.is_some() && InterfaceFacts::of("no-such-one").is_err());
    }

    #[test]
    fn the_loopback_interface_has_an_mtu_and_others_that_are_not_there_have_none() {
        assert!(mtu("lo").expect("there is one on every host") >= 1500);
        for name in ["", "no-such-one", "a name that is much too long for an interface", "a\0b"] {
            assert!(mtu(name).is_err(), "{name:?}");
        }
    }
}
