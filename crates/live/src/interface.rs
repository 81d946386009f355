//! What an interface is.

use crate::Error;
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};
use std::os::fd::{AsRawFd, OwnedFd};

/// Octets of the longest IP packet that an interface sends in one frame.
///
/// # Errors
/// If there is no such interface.
pub fn mtu(interface: &str) -> Result<u32, Error> {
    let mut request = request_of(interface)?;
    let socket = any_socket()?;
    #[expect(unsafe_code, reason = "a question that no safe wrapper asks")]
    // SAFETY: the request is zeroed but for the name; SIOCGIFMTU writes one integer into it.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) };
    if status != 0 {
        return Err(Error::last("asking for an interface's MTU"));
    }
    #[expect(unsafe_code, reason = "reading one member of a union")]
    // SAFETY: the member that SIOCGIFMTU has written.
    let octets = unsafe { request.ifr_ifru.ifru_mtu };
    Ok(u32::try_from(octets).unwrap_or(0))
}

fn any_socket() -> Result<OwnedFd, Error> {
    socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
        .map_err(|error| Error::System { doing: "opening a socket", source: error.into() })
}

fn request_of(interface: &str) -> Result<libc::ifreq, Error> {
    #[expect(unsafe_code, reason = "structures of the kernel's have no constructors")]
    // SAFETY: integers, addresses and a pointer, for all of which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let name = interface.as_bytes();
    if name.is_empty() || name.len() >= request.ifr_name.len() || name.contains(&0) {
        let allowed = format!("a name of 1 to {} octets", request.ifr_name.len() - 1);
        return Err(Error::refused("interface", format!("{interface:?}"), allowed));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_an_mtu_and_others_that_are_not_there_have_none() {
        assert!(mtu("lo").expect("there is one on every host") >= 1500);
        for name in ["", "no-such-one", "a name that is much too long for an interface", "a\0b"] {
            assert!(mtu(name).is_err(), "{name:?}");
        }
    }
}
