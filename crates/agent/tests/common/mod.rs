//! Agents as processes of their own, which go away with their test.
#![allow(dead_code)] // each test file uses some of it

pub mod hand;
pub mod quiet;

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_ethermeter-agent");

/// A directory that goes away.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let unique = format!("{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("ethermeter-agent-{name}-{unique}"));
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Options that name a certificate, its key and the authority in `directory`.
pub fn credentials(directory: &Path, name: &str) -> Vec<String> {
    let file = |name: String| directory.join(name).display().to_string();
    let (certificate, key) = (file(format!("{name}.pem")), file(format!("{name}.key")));
    let pairs = [
        ("--certificate", certificate),
        ("--key", key),
        ("--authority", file("authority.pem".into())),
    ];
    pairs.into_iter().flat_map(|(option, value)| [option.to_owned(), value]).collect()
}

pub fn make_certificates(directory: &Path) {
    let made = run(&["certificates", &directory.display().to_string(), "--hosts", "127.0.0.1"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Connect to an agent as its coordinator, by hand; `certificates`: where the coordinator's are,
/// none where agents have none.
pub async fn connect(agent: &Agent, certificates: Option<&Path>) -> Channel {
    let endpoint = match certificates {
        None => Endpoint::from_shared(format!("http://{}", agent.at)).expect("an address"),
        Some(directory) => {
            let read = |name: &str| std::fs::read(directory.join(name)).expect("a certificate");
            let tls = ClientTlsConfig::new()
                .ca_certificate(Certificate::from_pem(read("authority.pem")))
                .identity(Identity::from_pem(read("coordinator.pem"), read("coordinator.key")))
                .domain_name("127.0.0.1");
            let endpoint =
                Endpoint::from_shared(format!("https://{}", agent.at)).expect("an address");
            endpoint.tls_config(tls).expect("certificates")
        }
    };
    endpoint.connect().await.expect("an agent")
}

pub struct Agent {
    child: Child,
    pub at: SocketAddr,
}

impl Agent {
    pub fn spawn(options: &[String]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(["--listen", "127.0.0.1:0"])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("its first line");
        let at = line
            .trim()
            .strip_prefix("listening on ")
            .and_then(|at| at.parse().ok())
            .expect("an address");
        Self { child, at }
    }

    pub fn kill(&mut self) {
        self.child.kill().expect("a child of ours");
        self.child.wait().expect("a child of ours");
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("a child of ours").is_none()
    }

    /// Names of its threads.
    pub fn threads(&self) -> Vec<String> {
        let tasks =
            std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("a living process");
        let name =
            |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("comm")).ok();
        tasks.flatten().filter_map(name).map(|name| name.trim().to_owned()).collect()
    }

    /// Scheduling policy and real-time priority of its threads, with their names.
    pub fn priorities(&self) -> Vec<(String, i32, u32)> {
        let tasks =
            std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("a living process");
        let priority = |entry: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let (head, tail) = stat.rsplit_once(')')?;
            let name = head.split_once('(')?.1.to_owned();
            // The state is field 3 of proc_pid_stat(5), the priority 40 and the policy 41.
            let fields: Vec<&str> = tail.split_whitespace().collect();
            Some((name, fields.get(38)?.parse().ok()?, fields.get(37)?.parse().ok()?))
        };
        tasks.flatten().filter_map(priority).collect()
    }

    pub fn has_roles(&self) -> bool {
        self.threads().iter().any(|name| name == "role")
    }

    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id()))
            .expect("a living process")
            .count()
    }

    /// Memory that it holds.
    pub fn resident_octets(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .expect("a living process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        line.split_whitespace().next().and_then(|kilo| kilo.parse::<u64>().ok()).expect("a number")
            * 1024
    }

    pub fn signal(&self, signal: &str) {
        send_signal(self.child.id(), signal);
    }

    /// Its exit code, once it has ended.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("a child of ours").code()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn send_signal(process: u32, signal: &str) {
    let sent = Command::new("kill").args([format!("-{signal}"), process.to_string()]).status();
    assert!(sent.expect("kill").success());
}

pub fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the program")
}

pub const MS: u64 = 1_000_000;

pub fn phases(transmit_ms: u64) -> Value {
    json!({
        "settle_ns": 50 * MS, "transmit_ns": transmit_ms * MS,
        "measure_from_ns": transmit_ms * MS / 4, "measure_to_ns": transmit_ms * MS * 3 / 4, "drain_ns": 200 * MS,
    })
}

pub fn test(agents: &[&Agent], transmit_ms: u64, flows: &[Value]) -> Value {
    let names = ["a", "b", "c"].into_iter();
    let entry = |(name, agent): (&str, &&Agent)| json!({"name": name, "control": agent.at, "address": "127.0.0.1"});
    let agents: Vec<Value> = names.zip(agents).map(entry).collect();
    json!({"seed": 5, "agents": agents, "phases": phases(transmit_ms), "flows": flows})
}

pub fn flow(name: &str, traffic: &Value) -> Value {
    json!({
        "name": name, "from": "a", "to": "b", "port": "udp",
        "most_bps": 50_000_000, "most_frames_per_s": 20_000, "traffic": traffic,
    })
}

/// A thousand of the shortest frames a second.
pub fn paced() -> Value {
    json!({"kind": "stream", "source": {"frames": {"kind": "fixed", "bits": 512}, "arrivals": {"kind": "regular", "period_ps": 1_000_000_000}}})
}

pub fn saturated() -> Value {
    json!({"kind": "stream", "source": {"frames": {"kind": "fixed", "bits": 4096}, "arrivals": {"kind": "saturated"}}})
}

pub fn exchange() -> Value {
    json!({
        "kind": "exchange", "source": {"frames": {"kind": "fixed", "bits": 76 * 8}, "arrivals": {"kind": "regular", "period_ps": 1000 * MS}},
        "timeout_ns": 100 * MS,
    })
}

/// A coordinator at work.
pub struct Measuring {
    pub child: Child,
    _scratch: Scratch,
}

impl Measuring {
    pub fn begin(name: &str, test: &Value, options: &[String]) -> Self {
        let scratch = Scratch::new(name);
        let path = scratch.write("test.json", &test.to_string());
        let child = Command::new(PROGRAM)
            .arg("measure")
            .arg(path)
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        Self { child, _scratch: scratch }
    }

    pub fn finish(self) -> Measured {
        let Self { child, _scratch } = self;
        let output = child.wait_with_output().expect("a child of ours");
        Measured {
            code: output.status.code(),
            result: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            printed: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Time in which a process does what it must: minutes, as other programs may take the processors.
pub const LIMIT: Duration = Duration::from_secs(300);

/// Kill the coordinator of a test between two agents while they send; how long they had roles after
/// that.
pub fn silence_after_a_kill(name: &str, test: &Value, agents: [&Agent; 2]) -> Duration {
    let have_roles = || agents.map(Agent::has_roles);
    let mut measuring = Measuring::begin(name, test, &[]);
    wait_for("roles of both", LIMIT, || have_roles() == [true; 2]);
    std::thread::sleep(Duration::from_secs(1));
    measuring.child.kill().expect("a child of ours");
    // Roles are threads: what has none sends nothing.
    let silence = wait_for("silence", LIMIT, || have_roles() == [false; 2]);
    measuring.finish();
    silence
}

pub struct Measured {
    pub code: Option<i32>,
    pub result: Value,
    pub printed: String,
}

pub fn measure(name: &str, test: &Value, options: &[String]) -> Measured {
    Measuring::begin(name, test, options).finish()
}

/// Wait for what must come; how long that took.
pub fn wait_for(what: &str, longest: Duration, mut is_there: impl FnMut() -> bool) -> Duration {
    let begin = Instant::now();
    while !is_there() {
        assert!(begin.elapsed() < longest, "{what}: not within {longest:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    begin.elapsed()
}
