//! PLCA of an interface, as `ethtool --get-plca-cfg` and `--get-plca-status` show it: asked for over
//! generic netlink, of the family `ethtool`.
//!
//! Two requests of a few octets need no library; none that there is knows these messages.

use crate::netlink::{attribute, attributes, error_of, messages, request, Netlink};
use crate::Error;
use nix::sys::socket::SockProtocol;
use serde::{Deserialize, Serialize};
use std::io;

/// PLCA of an interface; what its PHY does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct PlcaFacts {
    /// Version of the register map of the OPEN Alliance, such as 0x0A10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Whether PLCA is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable: Option<bool>,
    /// `node-id`; 255 of a node that has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<u32>,
    /// `node-cnt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_cnt: Option<u32>,
    /// `to-tmr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_tmr: Option<u32>,
    /// `burst-cnt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_cnt: Option<u32>,
    /// `burst-tmr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_tmr: Option<u32>,
    /// Whether the status is OK: beacons come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_ok: Option<bool>,
}

// linux/genetlink.h
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const GENERIC_OCTETS: usize = 4; // genlmsghdr
                                 // linux/ethtool_netlink.h
const ETHTOOL_GENL_NAME: &[u8] = b"ethtool\0";
const ETHTOOL_MSG_PLCA_GET_CFG: u8 = 39;
const ETHTOOL_MSG_PLCA_GET_STATUS: u8 = 41;
const ETHTOOL_A_PLCA_HEADER: u16 = 1;
const ETHTOOL_A_PLCA_VERSION: u16 = 2;
const ETHTOOL_A_PLCA_ENABLED: u16 = 3;
const ETHTOOL_A_PLCA_STATUS: u16 = 4;
const ETHTOOL_A_PLCA_NODE_CNT: u16 = 5;
const ETHTOOL_A_PLCA_NODE_ID: u16 = 6;
const ETHTOOL_A_PLCA_TO_TMR: u16 = 7;
const ETHTOOL_A_PLCA_BURST_CNT: u16 = 8;
const ETHTOOL_A_PLCA_BURST_TMR: u16 = 9;
const ETHTOOL_A_HEADER_DEV_NAME: u16 = 2;
const NESTED: u16 = 1 << 15;

const DOING: &str = "asking for the PLCA of an interface";

/// PLCA of an interface; `None` if its driver, its PHY or this kernel has none.
///
/// # Errors
/// If there is no such interface, or the kernel refuses for another reason.
pub fn plca(interface: &str) -> Result<Option<PlcaFacts>, Error> {
    let mut netlink = Netlink::open(SockProtocol::NetlinkGeneric, DOING)?;
    let name = attribute(CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
    let found = asked(&mut netlink, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, &name)?;
    let Some(family) = found.as_deref().and_then(family_in) else { return Ok(None) };
    let device = [interface.as_bytes(), &[0]].concat();
    let header = attribute(ETHTOOL_A_HEADER_DEV_NAME, &device);
    let header = attribute(ETHTOOL_A_PLCA_HEADER | NESTED, &header);
    let mut facts = PlcaFacts::default();
    let Some(found) = asked(&mut netlink, family, ETHTOOL_MSG_PLCA_GET_CFG, &header)? else {
        return Ok(None);
    };
    facts.add(&found);
    if let Some(found) = asked(&mut netlink, family, ETHTOOL_MSG_PLCA_GET_STATUS, &header)? {
        facts.add(&found);
    }
    Ok(Some(facts))
}

/// The attributes of the answer to a request; `None` if the kernel knows nothing of the kind.
fn asked(
    netlink: &mut Netlink,
    family: u16,
    command: u8,
    attributes: &[u8],
) -> Result<Option<Vec<u8>>, Error> {
    netlink.send(&request(family, 0, &generic(command, attributes)))?;
    match answered(netlink.receive()?, family) {
        Ok(attributes) => Ok(Some(attributes.to_vec())),
        Err(libc::EOPNOTSUPP | libc::ENOENT) => Ok(None),
        Err(code) => {
            Err(Error::System { doing: DOING, source: io::Error::from_raw_os_error(code) })
        }
    }
}

/// The body of a request of generic netlink: command, version 1, and attributes.
fn generic(command: u8, attributes: &[u8]) -> Vec<u8> {
    [&[command, 1, 0, 0], attributes].concat()
}

/// The attributes of an answer, or the number of its error.
fn answered(octets: &[u8], family: u16) -> Result<&[u8], i32> {
    for (kind, body) in messages(octets) {
        if i32::from(kind) == libc::NLMSG_ERROR {
            return Err(error_of(body));
        }
        if kind == family {
            return body.get(GENERIC_OCTETS..).ok_or(libc::EBADMSG);
        }
    }
    Err(libc::EBADMSG)
}

fn family_in(found: &[u8]) -> Option<u16> {
    let id = attributes(found).find(|(kind, _)| *kind == CTRL_ATTR_FAMILY_ID)?;
    u16::try_from(number(id.1)?).ok()
}

/// A number of one, two or four octets, whichever the kernel writes.
fn number(value: &[u8]) -> Option<u32> {
    match *value {
        [one] => Some(u32::from(one)),
        [a, b] => Some(u32::from(u16::from_ne_bytes([a, b]))),
        [a, b, c, d] => Some(u32::from_ne_bytes([a, b, c, d])),
        _ => None,
    }
}

impl PlcaFacts {
    /// Take over what an answer says.
    fn add(&mut self, answer: &[u8]) {
        for (kind, value) in attributes(answer) {
            let found = number(value);
            match kind {
                ETHTOOL_A_PLCA_VERSION => self.version = found,
                ETHTOOL_A_PLCA_ENABLED => self.enable = found.map(|value| value != 0),
                ETHTOOL_A_PLCA_STATUS => self.is_ok = found.map(|value| value != 0),
                ETHTOOL_A_PLCA_NODE_CNT => self.node_cnt = found,
                ETHTOOL_A_PLCA_NODE_ID => self.node_id = found,
                ETHTOOL_A_PLCA_TO_TMR => self.to_tmr = found,
                ETHTOOL_A_PLCA_BURST_CNT => self.burst_cnt = found,
                ETHTOOL_A_PLCA_BURST_TMR => self.burst_tmr = found,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FAMILY: u16 = 0x15;

    /// An answer as `net/ethtool/plca.c` writes it: the interface, then what the PHY says.
    fn answer(command: u8, values: &[(u16, &[u8])]) -> Vec<u8> {
        let device = [attribute(1, &4u32.to_ne_bytes()), attribute(2, b"eth1\0")].concat();
        let mut body = attribute(ETHTOOL_A_PLCA_HEADER | NESTED, &device);
        for (kind, value) in values {
            body.extend(attribute(*kind, value));
        }
        request(FAMILY, 0, &generic(command, &body))
    }

    #[test]
    fn settings_and_status_are_read_as_the_kernel_writes_them() {
        let word = u32::to_ne_bytes;
        let settings = answer(
            38,
            &[
                (ETHTOOL_A_PLCA_VERSION, &0x0A10u16.to_ne_bytes()),
                (ETHTOOL_A_PLCA_ENABLED, &[1]),
                (ETHTOOL_A_PLCA_NODE_ID, &word(3)),
                (ETHTOOL_A_PLCA_NODE_CNT, &word(8)),
                (ETHTOOL_A_PLCA_TO_TMR, &word(24)),
                (ETHTOOL_A_PLCA_BURST_CNT, &word(0)),
                (ETHTOOL_A_PLCA_BURST_TMR, &word(128)),
            ],
        );
        let mut facts = PlcaFacts::default();
        facts.add(answered(&settings, FAMILY).expect("an answer"));
        facts.add(answered(&answer(39, &[(ETHTOOL_A_PLCA_STATUS, &[0])]), FAMILY).expect("one"));
        let expected = PlcaFacts {
            version: Some(0x0A10),
            enable: Some(true),
            node_id: Some(3),
            node_cnt: Some(8),
            to_tmr: Some(24),
            burst_cnt: Some(0),
            burst_tmr: Some(128),
            is_ok: Some(false),
        };
        assert_eq!(facts, expected);
        // A PHY may leave out what it does not know.
        let mut few = PlcaFacts::default();
        few.add(answered(&answer(38, &[(ETHTOOL_A_PLCA_ENABLED, &[0])]), FAMILY).expect("one"));
        assert_eq!(few, PlcaFacts { enable: Some(false), ..PlcaFacts::default() });
        assert_eq!(serde_json::to_string(&few).expect("JSON"), r#"{"enable":false}"#);
    }

    #[test]
    fn a_request_names_the_interface_as_the_kernel_reads_it() {
        let header = attribute(ETHTOOL_A_HEADER_DEV_NAME, b"eth1\0");
        let header = attribute(ETHTOOL_A_PLCA_HEADER | NESTED, &header);
        let octets = request(FAMILY, 0, &generic(ETHTOOL_MSG_PLCA_GET_CFG, &header));
        // nlmsghdr: 36 octets, family, NLM_F_REQUEST, sequence, sender; genlmsghdr: command 39,
        // version 1; a nest of 16 octets, in it the name of 9, padded to 12
        let expected = [
            &36u32.to_ne_bytes()[..],
            &FAMILY.to_ne_bytes(),
            &1u16.to_ne_bytes(),
            &[0; 8],
            &[39, 1, 0, 0],
            &16u16.to_ne_bytes(),
            &0x8001u16.to_ne_bytes(),
            &9u16.to_ne_bytes(),
            &2u16.to_ne_bytes(),
            b"eth1\0\0\0\0",
        ]
        .concat();
        assert_eq!(octets, expected);
    }

    #[test]
    fn this_kernel_answers_of_interfaces_without_it_and_of_those_that_are_not_there() {
        assert_eq!(plca("lo").expect("an answer"), None);
        for name in ["no-such-one", "", "a name that is much too long for an interface"] {
            assert!(plca(name).is_err(), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn no_octets_make_reading_panic(
            octets in proptest::collection::vec(any::<u8>(), 0..200),
            dress: bool,
        ) {
            let octets = if dress { request(FAMILY, 0, &octets) } else { octets };
            if let Ok(found) = answered(&octets, FAMILY) {
                PlcaFacts::default().add(found);
                let _ = family_in(found);
            }
        }
    }
}
