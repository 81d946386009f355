//! One host's part of a test: what it may send, and the roles that send and receive real frames.
//!
//! No network of control is known here: `ethermeter-agent` brings requests, grants and renewals.
//!
//! - [`consent`]: what a host may send: the rules that it checks before it opens a port, with the
//!   operator's ceilings, leases, and the policer of what leaves. It decides without a network or a
//!   clock.
//! - [`refusal`]: why a request is refused: the rule, the value, what is allowed.
//! - [`interfaces`]: the host's interfaces.
//! - [`experiment`]: an experiment on one host: its ports, its roles, its results.
//! - `report`: reports of hosts and results of tests.

pub mod consent;
pub mod experiment;
pub mod interfaces;
pub mod refusal;
mod report;

pub use report::{AgentReport, HostCounters, RoleReport, RoleTotals, SinkReport};

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    /// What reads or waits for a clock, or touches the network, another process or a file, and the
    /// rooms that do.
    const IMPURE: [&str; 16] = [
        "Timeline",
        "HostTime",
        "NetworkPort",
        "TcpStream",
        "TcpListener",
        "UdpSocket",
        "UnixStream",
        "socket2",
        "nix::",
        "libc::",
        "std::time",
        "std::thread",
        "std::fs",
        "std::process",
        "crate::experiment",
        "crate::interfaces",
    ];

    fn files_below(directory: &Path) -> Vec<PathBuf> {
        let entries = directory.read_dir().expect("a directory of sources");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn consent_decides_without_a_clock_or_a_socket() {
        let consent = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/consent");
        let files = files_below(&consent);
        assert!(files.len() > 10, "{files:?}");
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a source");
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                let found = IMPURE.iter().find(|&&word| line.contains(word));
                assert!(found.is_none(), "{}: {line}", file.display());
            }
        }
    }
}
