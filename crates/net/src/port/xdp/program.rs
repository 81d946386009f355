//! The program that the kernel runs for each frame that comes in: ours go to the socket, all others
//! go on as ever.
//!
//! Some twenty instructions of eBPF, written by hand and checked by the kernel before it runs them.
//! It stays attached as long as its link is open, so it goes when the port goes, however the
//! process ends.

use crate::Error;
use ethermeter_ethernet::frame::{LOCAL_EXPERIMENTAL_1, TAG_TYPE};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Where the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Attachment {
    /// In the driver, before anything else is done to a frame.
    Native,
    /// Behind the driver, after the kernel has made its own structure of a frame.
    Generic,
}

/// An attached program.
pub(super) struct Redirection {
    /// Detaches the program when it is closed; nothing else is done with it.
    _link: OwnedFd,
    pub(super) attachment: Attachment,
}

// linux/bpf.h, linux/if_link.h
const MAP_CREATE: i64 = 0;
const MAP_UPDATE_ELEM: i64 = 2;
const PROG_LOAD: i64 = 5;
const LINK_CREATE: i64 = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
const XDP_PASS: i32 = 2;
const FUNC_REDIRECT_MAP: i32 = 51;
const FLAG_GENERIC: u32 = 1 << 1;
const FLAG_NATIVE: u32 = 1 << 2;
const QUEUES: u32 = 64;

#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    registers: u8, // the destination in the low half, the source in the high one
    offset: i16,
    immediate: i32,
}

const fn instruction(
    code: u8,
    destination: u8,
    source: u8,
    offset: i16,
    immediate: i32,
) -> Instruction {
    Instruction { code, registers: source << 4 | destination, offset, immediate }
}

/// The program, for a map of sockets by queue.
fn program(map: RawFd) -> [Instruction; 21] {
    let as_read = |kind: u16| i32::from(u16::from_ne_bytes(kind.to_be_bytes()));
    let (ours, tag) = (as_read(LOCAL_EXPERIMENTAL_1), as_read(TAG_TYPE));
    [
        instruction(0xBF, 6, 1, 0, 0),        // r6 = what is known of the frame
        instruction(0x61, 2, 1, 0, 0),        // r2 = its begin
        instruction(0x61, 3, 1, 4, 0),        // r3 = its end
        instruction(0xBF, 4, 2, 0, 0),        // r4 = r2
        instruction(0x07, 4, 0, 0, 14),       //      + 14, where a header would end
        instruction(0x2D, 4, 3, 13, 0),       // if there is none: pass
        instruction(0x69, 5, 2, 12, 0),       // r5 = its type
        instruction(0x15, 5, 0, 5, ours),     // if it is ours: redirect
        instruction(0x55, 5, 0, 10, tag),     // if it is no tag: pass
        instruction(0x07, 4, 0, 0, 4),        // r4 = where a header with a tag would end
        instruction(0x2D, 4, 3, 8, 0),        // if there is none: pass
        instruction(0x69, 5, 2, 16, 0),       // r5 = the type behind the tag
        instruction(0x55, 5, 0, 6, ours),     // if it is not ours: pass
        instruction(0x18, 1, 1, 0, map),      // redirect: r1 = the map …
        instruction(0, 0, 0, 0, 0),           //      (an instruction of double length)
        instruction(0x61, 2, 6, 16, 0),       // r2 = the queue it arrived from
        instruction(0xB7, 3, 0, 0, XDP_PASS), // r3 = what to do if that has no socket
        instruction(0x85, 0, 0, 0, FUNC_REDIRECT_MAP), // r0 = redirect(r1, r2, r3)
        instruction(0x95, 0, 0, 0, 0),        // return r0
        instruction(0xB7, 0, 0, 0, XDP_PASS), // pass: r0 = go on
        instruction(0x95, 0, 0, 0, 0),        // return r0
    ]
}

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_octets: u32,
    value_octets: u32,
    entries: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    kind: u32,
    instructions: u32,
    first: u64,
    licence: u64,
    rest: [u64; 4], // no log
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    kind: u32,
    flags: u32,
}

impl Redirection {
    /// Redirect our frames that come in at an interface's queue to a socket.
    pub(super) fn attached(interface: u32, queue: u32, socket: RawFd) -> Result<Self, Error> {
        let map = open(
            MAP_CREATE,
            &MapCreate {
                kind: MAP_TYPE_XSKMAP,
                key_octets: 4,
                value_octets: 4,
                entries: QUEUES,
                flags: 0,
            },
            "making a map of sockets",
        )?;
        let (key, value) = (queue, descriptor(socket));
        let update = MapUpdate {
            map: descriptor(map.as_raw_fd()),
            padding: 0,
            key: address(&raw const key),
            value: address(&raw const value),
            flags: 0,
        };
        call(MAP_UPDATE_ELEM, &update).map_err(Error::system("putting a socket into its map"))?;
        let instructions = program(map.as_raw_fd());
        let load = ProgramLoad {
            kind: PROG_TYPE_XDP,
            instructions: u32::try_from(instructions.len()).expect("16"),
            first: address(instructions.as_ptr()),
            licence: address(c"GPL".as_ptr()),
            rest: [0; 4],
        };
        let program = open(PROG_LOAD, &load, "loading the program that redirects frames")?;
        let link = |flags| LinkCreate {
            program: descriptor(program.as_raw_fd()),
            interface,
            kind: ATTACH_TYPE_XDP,
            flags,
        };
        let doing = "attaching the program that redirects frames";
        match open(LINK_CREATE, &link(FLAG_NATIVE), doing) {
            Ok(link) => Ok(Self { _link: link, attachment: Attachment::Native }),
            // Whatever a driver's reason is, the generic mode works with all drivers; if that is
            // not either, its reason is in the message.
            Err(_) => Ok(Self {
                _link: open(LINK_CREATE, &link(FLAG_GENERIC), doing)?,
                attachment: Attachment::Generic,
            }),
        }
    }
}

fn descriptor(fd: RawFd) -> u32 {
    u32::try_from(fd).expect("open descriptors are not negative")
}

fn address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// A call that gives back a descriptor.
fn open<T>(command: i64, attributes: &T, doing: &'static str) -> Result<OwnedFd, Error> {
    let fd = call(command, attributes).map_err(Error::system(doing))?;
    #[expect(unsafe_code, reason = "taking over a descriptor")]
    // SAFETY: the kernel has just opened it for us, and no other code has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[expect(unsafe_code, reason = "bpf has no wrapper")]
fn call<T>(command: i64, attributes: &T) -> io::Result<RawFd> {
    // SAFETY: the kernel reads as many octets as `attributes` has; the addresses in it are of
    // values that live through the call, and it writes to none.
    let answer =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of::<T>()) };
    match RawFd::try_from(answer) {
        Ok(answer) if answer >= 0 => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}
