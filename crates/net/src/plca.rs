//! PLCA of an interface, as `ethtool --get-plca-cfg` and `--get-plca-status` show it: asked for
//! over generic netlink, of the family `ethtool`.
//!
//! Messages and attributes are those of `net/ethtool/plca.c` and
//! `Documentation/networking/ethtool-netlink.rst` (Linux 6.3). Two requests of a few octets need no
//! library: the crate `ethtool` lacks these messages, and brings a runtime for tasks.

use crate::Error;
use crate::netlink::{Netlink, attribute, attributes, error_of, messages, name_octets, request};
use nix::sys::socket::SockProtocol;
use serde::{Deserialize, Serialize};
use std::io;

/// PLCA of an interface; what its PHY does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
const GENERIC_OCTETS: usize = 4;

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
    let header = header_of(interface)?;
    let mut netlink = Netlink::open(SockProtocol::NetlinkGeneric, DOING)?;
    let name = attribute(CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
    let message = query(&mut netlink, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, &name)?;
    let Some(family) = message.as_deref().and_then(family_in) else { return Ok(None) };
    let mut facts = PlcaFacts::default();
    let Some(message) = query(&mut netlink, family, ETHTOOL_MSG_PLCA_GET_CFG, &header)? else {
        return Ok(None);
    };
    facts.add(&message);
    if let Some(message) = query(&mut netlink, family, ETHTOOL_MSG_PLCA_GET_STATUS, &header)? {
        facts.add(&message);
    }
    Ok(Some(facts))
}

/// The attribute of a request that names an interface.
fn header_of(interface: &str) -> Result<Vec<u8>, Error> {
    let name = [name_octets(interface)?, &[0]].concat();
    let header = attribute(ETHTOOL_A_HEADER_DEV_NAME, &name);
    Ok(attribute(ETHTOOL_A_PLCA_HEADER | NESTED, &header))
}

/// The attributes of the answer to a request; `None` if the kernel knows nothing of the kind.
fn query(
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

fn family_in(message: &[u8]) -> Option<u16> {
    let id = attributes(message).find(|(kind, _)| *kind == CTRL_ATTR_FAMILY_ID)?;
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
            let parsed = number(value);
            match kind {
                ETHTOOL_A_PLCA_VERSION => self.version = parsed,
                ETHTOOL_A_PLCA_ENABLED => self.enable = parsed.map(|value| value != 0),
                ETHTOOL_A_PLCA_STATUS => self.is_ok = parsed.map(|value| value != 0),
                ETHTOOL_A_PLCA_NODE_CNT => self.node_cnt = parsed,
                ETHTOOL_A_PLCA_NODE_ID => self.node_id = parsed,
                ETHTOOL_A_PLCA_TO_TMR => self.to_tmr = parsed,
                ETHTOOL_A_PLCA_BURST_CNT => self.burst_cnt = parsed,
                ETHTOOL_A_PLCA_BURST_TMR => self.burst_tmr = parsed,
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
    const ETHTOOL_MSG_PLCA_GET_CFG_REPLY: u8 = 39;
    const ETHTOOL_MSG_PLCA_GET_STATUS_REPLY: u8 = 40;

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
            ETHTOOL_MSG_PLCA_GET_CFG_REPLY,
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
        facts.add(
            answered(
                &answer(ETHTOOL_MSG_PLCA_GET_STATUS_REPLY, &[(ETHTOOL_A_PLCA_STATUS, &[0])]),
                FAMILY,
            )
            .expect("one"),
        );
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
        few.add(
            answered(
                &answer(ETHTOOL_MSG_PLCA_GET_CFG_REPLY, &[(ETHTOOL_A_PLCA_ENABLED, &[0])]),
                FAMILY,
            )
            .expect("one"),
        );
        assert_eq!(few, PlcaFacts { enable: Some(false), ..PlcaFacts::default() });
        assert_eq!(serde_json::to_string(&few).expect("JSON"), r#"{"enable":false}"#);
    }

    /// Octets as they are written in hexadecimal.
    fn octets(text: &str) -> Vec<u8> {
        let octet = |word| u8::from_str_radix(word, 16).expect("an octet");
        text.split_whitespace().map(octet).collect()
    }

    #[test]
    fn a_request_is_that_of_ethtool() {
        // What `ethtool --get-plca-cfg lo` of ethtool 6.14.2 sends (strace), but for the flag
        // NLM_F_ACK and the sequence.
        let sent = "20 00 00 00 15 00 01 00 00 00 00 00 00 00 00 00 27 01 00 00 \
                    0c 00 01 80 07 00 02 00 6c 6f 00 00";
        let asks =
            |command| request(FAMILY, 0, &generic(command, &header_of("lo").expect("a name")));
        assert_eq!(asks(ETHTOOL_MSG_PLCA_GET_CFG), octets(sent));
        // `ethtool --get-plca-status lo` differs in the command.
        assert_eq!(asks(ETHTOOL_MSG_PLCA_GET_STATUS), octets(&sent.replace("27 01", "29 01")));
        // How it asks for the number of the family.
        let name = attribute(CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME);
        let sent = "20 00 00 00 10 00 01 00 00 00 00 00 00 00 00 00 03 01 00 00 \
                    0c 00 02 00 65 74 68 74 6f 6f 6c 00";
        assert_eq!(request(GENL_ID_CTRL, 0, &generic(CTRL_CMD_GETFAMILY, &name)), octets(sent));
    }

    #[test]
    fn refusals_are_read_as_a_kernel_wrote_them() {
        // Linux 6.18 of `lo`: the error and the request.
        let none = "34 00 00 00 02 00 00 00 02 00 00 00 19 4c 00 00 a1 ff ff ff \
                    20 00 00 00 15 00 01 00 02 00 00 00 00 00 00 00 27 01 00 00 \
                    0c 00 01 80 07 00 02 00 6c 6f 00 00";
        assert_eq!(answered(&octets(none), FAMILY), Err(libc::EOPNOTSUPP));
        // Of `nosuch`, with the text and the place that NETLINK_EXT_ACK adds.
        let unknown = "5c 00 00 00 02 00 00 02 02 00 00 00 19 4c 00 00 ed ff ff ff \
                       24 00 00 00 15 00 01 00 02 00 00 00 00 00 00 00 27 01 00 00 \
                       10 00 01 80 0b 00 02 00 6e 6f 73 75 63 68 00 00 1b 00 01 00 \
                       6e 6f 20 64 65 76 69 63 65 20 6d 61 74 63 68 65 73 20 6e 61 6d 65 00 00 \
                       08 00 02 00 18 00 00 00";
        assert_eq!(answered(&octets(unknown), FAMILY), Err(libc::ENODEV));
        // The kernel's controller: the family's identifier is after its name.
        let family = "28 00 00 00 10 00 00 00 01 00 00 00 b2 43 00 00 01 02 00 00 \
                      0c 00 02 00 65 74 68 74 6f 6f 6c 00 06 00 01 00 15 00 00 00";
        let family = octets(family);
        assert_eq!(answered(&family, GENL_ID_CTRL).map(family_in), Ok(Some(FAMILY)));
        // Cut anywhere it has no such answer, and no part of one.
        for end in 0..family.len() {
            assert_eq!(answered(&family[..end], GENL_ID_CTRL), Err(libc::EBADMSG), "{end}");
        }
    }

    #[test]
    fn this_kernel_answers_of_interfaces_without_it_and_of_those_that_are_not_there() {
        assert_eq!(plca("lo").expect("an answer"), None);
        let long = "a".repeat(70_000); // longer than an attribute
        for name in ["no-such-one", "", "lo\0", &long] {
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
            if let Ok(message) = answered(&octets, FAMILY) {
                PlcaFacts::default().add(message);
                let _ = family_in(message);
            }
        }
    }
}
