//! `ethermeter-agent`: an agent, a coordinator by hand, and certificates.

use ethermeter_agent::Credentials;
use ethermeter_agent::result::{HostAnswer, TestOutcome};
use ethermeter_agent::{certificates, coordinator, listen};
use ethermeter_net::SkewedClock;
use ethermeter_station::consent::Ceilings;
use lexopt::prelude::*;
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

const HELP: &str = "\
ethermeter-agent --listen ADDRESS:PORT [--certificate FILE --key FILE --authority FILE] [--ceilings FILE]
                 [--clock-offset NS] [--clock-drift PPB]
    Send and receive frames as a coordinator asks, within the ceilings and with the consent of every receiver.
    Without certificates, only on a loopback address. Port 0: any free one; it is printed.
    An artificial clock, for tests: frames show a time that is ahead by so much and gains so much; results say so.
ethermeter-agent measure TEST.json [--certificate FILE --key FILE --authority FILE]
    Run one test between agents; the result is one line of JSON.
ethermeter-agent hosts ADDRESS:PORT… [--certificate FILE --key FILE --authority FILE]
    What agents say of themselves, as one line of JSON; exit code 1 if one of them does not answer.
ethermeter-agent certificates DIRECTORY --hosts NAME=ADDRESS,…
    Make a private authority, a certificate for the coordinator and one for each host.
ethermeter-agent --version
";

enum Command {
    Agent,
    Measure(PathBuf),
    Certificates(PathBuf),
    Hosts(Vec<SocketAddr>),
}

#[derive(Default)]
struct AgentOptions {
    listen: Option<SocketAddr>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    authority: Option<PathBuf>,
    ceilings: Option<PathBuf>,
    clock_offset_ns: i64,
    clock_drift_ppb: i64,
    hosts: Option<String>,
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(fault) => {
            eprintln!("ethermeter-agent: {fault}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, String> {
    let mut parser = lexopt::Parser::from_env();
    let mut options = AgentOptions::default();
    let mut words: Vec<OsString> = Vec::new();
    while let Some(argument) = parser.next().map_err(|error| error.to_string())? {
        match argument {
            Short('h') | Long("help") => {
                print!("{HELP}");
                return Ok(ExitCode::SUCCESS);
            }
            Short('V') | Long("version") => {
                println!("ethermeter-agent {}", env!("CARGO_PKG_VERSION"));
                return Ok(ExitCode::SUCCESS);
            }
            Long("listen") => {
                options.listen = Some(address("listen", &value(&mut parser)?)?);
            }
            Long("certificate") => options.certificate = Some(value(&mut parser)?.into()),
            Long("key") => options.key = Some(value(&mut parser)?.into()),
            Long("authority") => options.authority = Some(value(&mut parser)?.into()),
            Long("ceilings") => options.ceilings = Some(value(&mut parser)?.into()),
            Long("clock-offset") => {
                options.clock_offset_ns = number("clock-offset", &mut parser, MOST_OFFSET_NS)?;
            }
            Long("clock-drift") => {
                options.clock_drift_ppb = number("clock-drift", &mut parser, MOST_DRIFT_PPB)?;
            }
            Long("hosts") => {
                options.hosts = Some(value(&mut parser)?.to_string_lossy().into_owned());
            }
            Value(word) => words.push(word),
            other => return Err(format!("{}\n{HELP}", other.unexpected())),
        }
    }
    let command = command(&words)?;
    match command {
        Command::Agent => agent(&options),
        Command::Measure(path) => measure(&path, &options),
        Command::Hosts(controls) => {
            let credentials = options.credentials()?;
            let hosts =
                runtime()?.block_on(coordinator::hosts(&controls, credentials.as_ref(), true));
            println!("{}", json(&hosts)?);
            let all_answer =
                hosts.iter().all(|host| matches!(host, HostAnswer::Description { .. }));
            Ok(if all_answer { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Command::Certificates(directory) => {
            let hosts =
                options.hosts.ok_or("hosts: missing; must be names, separated by commas")?;
            let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
            certificates::make(&directory, &hosts).map_err(|error| error.to_string())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn command(words: &[OsString]) -> Result<Command, String> {
    let paths = || words[1..].iter().map(PathBuf::from);
    match (words.first().and_then(|word| word.to_str()), words.len()) {
        (None, 0) | (Some("agent"), 1) => Ok(Command::Agent),
        (Some("measure"), 2) => Ok(Command::Measure(paths().collect())),
        (Some("certificates"), 2) => Ok(Command::Certificates(paths().collect())),
        (Some("hosts"), 2..) => {
            let controls = words[1..].iter().map(|word| address("host", word));
            Ok(Command::Hosts(controls.collect::<Result<_, _>>()?))
        }
        _ => {
            let given: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            Err(format!("{}: no command with as many words\n{HELP}", given.join(" ")))
        }
    }
}

fn address(what: &str, text: &OsStr) -> Result<SocketAddr, String> {
    let text = text.to_string_lossy();
    text.parse()
        .map_err(|_| format!("{what} = {text}: must be ADDRESS:PORT, such as 127.0.0.1:4988"))
}

fn value(parser: &mut lexopt::Parser) -> Result<OsString, String> {
    parser.value().map_err(|error| error.to_string())
}

/// An artificial clock is wrong by an hour at most, and gains or loses a thousandth at most.
const MOST_OFFSET_NS: i64 = 3_600_000_000_000;
const MOST_DRIFT_PPB: i64 = 1_000_000;

fn number(what: &str, parser: &mut lexopt::Parser, most: i64) -> Result<i64, String> {
    let text = value(parser)?.to_string_lossy().into_owned();
    let number = text.parse().ok().filter(|number| (-most..=most).contains(number));
    number.ok_or_else(|| format!("{what} = {text}: must be a whole number from -{most} to {most}"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn read_text(path: &Path) -> Result<String, String> {
    String::from_utf8(read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

impl AgentOptions {
    fn credentials(&self) -> Result<Option<Credentials>, String> {
        match (&self.certificate, &self.key, &self.authority) {
            (None, None, None) => Ok(None),
            (Some(certificate), Some(key), Some(authority)) => Ok(Some(Credentials {
                certificate: read(certificate)?,
                key: read(key)?,
                authority: read(authority)?,
            })),
            _ => Err("certificate, key and authority: all of them or none".into()),
        }
    }
}

/// Threads that wait for roles to end go away after so long.
const IDLE: std::time::Duration = std::time::Duration::from_secs(1);

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_current_thread()
        .thread_keep_alive(IDLE)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())
}

/// When a signal asks the process to end.
async fn termination_signal() {
    let listened = |kind| signal(kind).ok();
    let (mut interrupt, mut terminate) =
        (listened(SignalKind::interrupt()), listened(SignalKind::terminate()));
    let wait = async |signal: &mut Option<tokio::signal::unix::Signal>| match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    };
    tokio::select! {
        _ = wait(&mut interrupt) => {}
        _ = wait(&mut terminate) => {}
    }
}

fn agent(options: &AgentOptions) -> Result<ExitCode, String> {
    let at = options.listen.ok_or_else(|| format!("listen: missing\n{HELP}"))?;
    let ceilings = match &options.ceilings {
        None => Ceilings::default(),
        Some(path) => Ceilings::parse(&read_text(path)?)
            .map_err(|fault| format!("{}: {fault}", path.display()))?,
    };
    let credentials = options.credentials()?;
    let own_clock = SkewedClock {
        epoch_ns: 0,
        offset_ns: options.clock_offset_ns,
        drift_ns_per_s: options.clock_drift_ppb,
    };
    runtime()?.block_on(async {
        let listening = listen::listen(at, ceilings, credentials.as_ref(), own_clock)
            .await
            .map_err(|error| error.to_string())?;
        for warning in &listening.warnings {
            eprintln!("ethermeter-agent: warning: {warning}");
        }
        let local = listening.local().map_err(|error| error.to_string())?;
        println!("listening on {local}");
        listening.serve(termination_signal()).await.map_err(|error| error.to_string())?;
        Ok(ExitCode::SUCCESS)
    })
}

fn json(value: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

fn measure(path: &Path, options: &AgentOptions) -> Result<ExitCode, String> {
    let test = read_text(path)?;
    let credentials = options.credentials()?;
    let run = coordinator::run(&test, credentials.as_ref(), termination_signal(), async |_| ());
    let result = runtime()?.block_on(run).map_err(|error| error.to_string())?;
    println!("{}", json(&result)?);
    // A test that did not run to its end is no success, though its data are kept.
    Ok(if result.outcome == TestOutcome::Complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
