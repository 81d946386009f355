//! Whom an agent answers, and with which certificate of its own it starts.

use crate::common::{run, Agent, Scratch};
use crate::common::hand::HELLO;
use ethermeter_agent::calls::AgentClient;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SerialNumber,
};
use std::path::Path;
use std::time::{Duration, SystemTime};
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};

const DAY: Duration = Duration::from_secs(86_400);
const CLIENT: ExtendedKeyUsagePurpose = ExtendedKeyUsagePurpose::ClientAuth;
const SERVER: ExtendedKeyUsagePurpose = ExtendedKeyUsagePurpose::ServerAuth;

/// An authority that certifies whatever it is asked to.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate: the name in it, what it is for, for how many days from now on, its serial number.
struct Asked<'a> {
    name: &'a str,
    usages: Vec<ExtendedKeyUsagePurpose>,
    days: i32,
    serial: u64,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Write a certificate and its key, and the authority's certificate, as a host has them.
    fn issue(&self, directory: &Path, request: &Asked<'_>) -> Vec<String> {
        let mut params = CertificateParams::new(vec![request.name.to_owned()]).expect("a name");
        params.extended_key_usages.clone_from(&request.usages);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.serial_number = Some(SerialNumber::from(request.serial));
        let now = SystemTime::now();
        params.not_before = (now - 30 * DAY).into();
        let days = request.days.unsigned_abs();
        let until = if request.days < 0 { now - days * DAY } else { now + days * DAY };
        params.not_after = until.into();
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let files = [
            ("certificate", certificate.pem()),
            ("key", key.serialize_pem()),
            ("authority", self.pem.clone()),
        ];
        let write = |(option, text): (&str, String)| {
            let path = directory.join(format!("{option}-{}.pem", request.serial));
            std::fs::write(&path, text).expect("a file");
            [format!("--{option}"), path.display().to_string()]
        };
        files.into_iter().flat_map(write).collect()
    }
}

fn host(serial: u64) -> Asked<'static> {
    Asked { name: "127.0.0.1", usages: vec![SERVER], days: 100, serial }
}

fn coordinator(serial: u64) -> Asked<'static> {
    Asked { name: "coordinator", usages: vec![CLIENT], days: 100, serial }
}

/// Whether an agent of `authority` answers one with these credentials.
async fn answers(agent: &Agent, authority: &Authority, credentials: &[String]) -> bool {
    let read = |at: usize| std::fs::read(&credentials[at]).expect("a file");
    let tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&authority.pem))
        .identity(Identity::from_pem(read(1), read(3)))
        .domain_name("127.0.0.1");
    let endpoint = Endpoint::from_shared(format!("https://{}", agent.at)).expect("an address");
    let endpoint = endpoint.tls_config(tls).expect("certificates");
    let Ok(channel) = endpoint.connect().await else { return false };
    // With TLS 1.3, a client learns only later that it was refused.
    AgentClient::new(channel, 1 << 20).call(HELLO).await.is_ok()
}

#[tokio::test]
async fn only_a_certificate_for_coordinators_is_answered() {
    let (ours, others) = (Authority::new(), Authority::new());
    let scratch = Scratch::new("coordinators");
    let ceilings = scratch.write("ceilings.toml", "revoked = [\"00:0b\"]").display().to_string();
    let mut options = ours.issue(&scratch.0, &host(1));
    options.extend(["--ceilings".into(), ceilings]);
    let agent = Agent::spawn(&options);
    for (what, authority, request, expected) in [
        ("as it should be", &ours, coordinator(2), true),
        ("of another name", &ours, Asked { name: "127.0.0.1", ..coordinator(3) }, false),
        ("for nothing in particular", &ours, Asked { usages: vec![], ..coordinator(4) }, false),
        ("for servers", &ours, Asked { usages: vec![SERVER], ..coordinator(5) }, false),
        ("that has run out", &ours, Asked { days: -1, ..coordinator(6) }, false),
        ("of another authority", &others, coordinator(7), false),
        ("that is revoked", &ours, coordinator(11), false),
        ("of a host", &ours, host(8), false),
    ] {
        let credentials = authority.issue(&scratch.0, &request);
        assert_eq!(answers(&agent, &ours, &credentials).await, expected, "{what}");
    }
}

#[test]
fn an_agent_does_not_start_with_a_certificate_that_others_refuse() {
    let (ours, others) = (Authority::new(), Authority::new());
    let scratch = Scratch::new("own");
    let foreign = {
        let mut options = ours.issue(&scratch.0, &host(1));
        options[5].clone_from(&others.issue(&scratch.0, &host(2))[5]);
        options
    };
    let cases = [
        ("of another authority", foreign),
        ("that has run out", ours.issue(&scratch.0, &Asked { days: -1, ..host(3) })),
        ("for coordinators", ours.issue(&scratch.0, &coordinator(4))),
        ("for nothing in particular", ours.issue(&scratch.0, &Asked { usages: vec![], ..host(5) })),
    ];
    for (what, options) in cases {
        let mut words = vec!["--listen", "127.0.0.1:0"];
        words.extend(options.iter().map(String::as_str));
        let ended = run(&words);
        let printed = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{what}: {printed}");
        assert!(printed.contains("certificate: "), "{what}: {printed}");
    }
}
