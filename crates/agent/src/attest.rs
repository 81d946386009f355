//! Signed consent: a receiver signs a grant with the key of its certificate, so that no other host
//! can grant for its address, not even the coordinator.

use ethermeter_station::consent::{CertificateSerial, Grant, LeaseRenewal, Proof};
use ethermeter_station::refusal::{ConsentRule, Refusal};
use rcgen::{KeyPair, SigningKey};
use ring::rand::{SecureRandom, SystemRandom};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::fmt::Display;
use std::net::IpAddr;
use std::time::Duration;
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, anchor_from_trusted_cert};

/// A certificate, its key and the authority of all certificates, as PEM.
#[derive(Clone)]
pub struct Credentials {
    /// Of this host.
    pub certificate: Vec<u8>,
    /// The certificate's.
    pub key: Vec<u8>,
    /// The certificate that others' must be signed by.
    pub authority: Vec<u8>,
}

/// Whether the certificate with this serial number is accepted.
fn check_serial(serial: &[u8], revoked: &[CertificateSerial]) -> Result<(), String> {
    let is_revoked = revoked.iter().any(|other| other.is(serial));
    if is_revoked { Err("the certificate is revoked".into()) } else { Ok(()) }
}

/// The purposes of certificates (RFC 5280, section 4.2.1.12): 1.3.6.1.5.5.7.3.1 and .2.
const FOR_SERVERS: &[u8] = &[43, 6, 1, 5, 5, 7, 3, 1];
const FOR_CLIENTS: &[u8] = &[43, 6, 1, 5, 5, 7, 3, 2];
/// The name in the certificates of coordinators.
pub const COORDINATOR: &str = "coordinator";
/// A certificate that is valid for less is warned about when an agent starts.
const SOON: Duration = Duration::from_secs(30 * 86_400);

/// Whether a certificate is of the authority and says that it is for `usage`, at `now`.
fn verify(
    certificate: &EndEntityCert<'_>,
    authority: &CertificateDer<'_>,
    usage: &'static [u8],
    now: UnixTime,
) -> Result<(), webpki::Error> {
    let anchor = anchor_from_trusted_cert(authority)?;
    let usage = KeyUsage::required(usage);
    certificate
        .verify_for_usage(ALL_VERIFICATION_ALGS, &[anchor], &[], now, usage, None, None)
        .map(|_| ())
}

/// Whether a certificate is that of a coordinator: of the authority, for clients, with the name
/// `coordinator`, and not revoked.
///
/// # Errors
/// With what it is not.
pub fn check_coordinator(
    certificate: &CertificateDer<'_>,
    authority: &CertificateDer<'_>,
    revoked: &[CertificateSerial],
    now: UnixTime,
) -> Result<(), String> {
    let certificate = EndEntityCert::try_from(certificate).map_err(|error| error.to_string())?;
    verify(&certificate, authority, FOR_CLIENTS, now).map_err(|error| error.to_string())?;
    let name = ServerName::try_from(COORDINATOR).map_err(|error| error.to_string())?;
    certificate.verify_is_valid_for_subject_name(&name).map_err(|error| error.to_string())?;
    check_serial(certificate.serial(), revoked)
}

/// Signs an agent's grants and verifies those of others.
pub struct Notary {
    key: KeyPair,
    certificate: CertificateDer<'static>,
    authority: CertificateDer<'static>,
    revoked: Vec<CertificateSerial>,
}

/// A grant, and what proves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttestedGrant {
    /// A [`Grant`] as JSON: exactly what was signed.
    pub grant: Vec<u8>,
    /// The signature, ASN.1; empty without TLS.
    pub signature: Vec<u8>,
    /// The certificate, DER; empty without TLS.
    pub certificate: Vec<u8>,
}

/// A signed text begins with its purpose, so that a signature for another purpose is not valid.
const CONSENT: &[u8] = b"ethermeter consent 3\n";
const RENEWAL: &[u8] = b"ethermeter renewal 1\n";

impl Notary {
    /// One with these credentials, which accepts no certificate that is `revoked`.
    pub fn new(credentials: &Credentials, revoked: Vec<CertificateSerial>) -> Result<Self, String> {
        let key = std::str::from_utf8(&credentials.key).map_err(|error| format!("key: {error}"))?;
        let key = KeyPair::from_pem(key).map_err(|error| format!("key: {error}"))?;
        if !key.is_compatible(&rcgen::PKCS_ECDSA_P256_SHA256) {
            return Err("key: must be of ECDSA on the curve P-256".into());
        }
        let read = |pem: &[u8], what: &str| {
            CertificateDer::from_pem_slice(pem).map_err(|error| format!("{what}: {error}"))
        };
        let certificate = read(&credentials.certificate, "certificate")?;
        let authority = read(&credentials.authority, "authority")?;
        anchor_from_trusted_cert(&authority).map_err(|error| format!("authority: {error}"))?;
        Ok(Self { key, certificate, authority, revoked })
    }

    /// Whether others will accept what is signed, at `now`; returns what its operator should know.
    ///
    /// # Errors
    /// If they will not.
    pub fn check(&self, own: &[IpAddr], now: UnixTime) -> Result<Vec<String>, String> {
        let fault = |error: webpki::Error| format!("certificate: {error}");
        let certificate = EndEntityCert::try_from(&self.certificate).map_err(fault)?;
        verify(&certificate, &self.authority, FOR_SERVERS, now).map_err(fault)?;
        check_serial(certificate.serial(), &self.revoked)?;
        let mut warnings = Vec::new();
        let soon = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()) + SOON);
        if verify(&certificate, &self.authority, FOR_SERVERS, soon).is_err() {
            warnings.push("certificate: it runs out within 30 days".to_owned());
        }
        let names = |address: &IpAddr| {
            certificate.verify_is_valid_for_subject_name(&ServerName::from(*address)).is_ok()
        };
        if !own.iter().any(names) {
            warnings.push("certificate: it names no address of this host".to_owned());
        }
        Ok(warnings)
    }

    /// Sign a grant.
    pub fn sign(&self, grant: Vec<u8>) -> Result<AttestedGrant, String> {
        let signature = self.signature(CONSENT, &grant)?;
        Ok(AttestedGrant { grant, signature, certificate: self.certificate.to_vec() })
    }

    /// Sign a renewal of grants.
    pub fn sign_renewal(&self, renewal: &[u8]) -> Result<Vec<u8>, String> {
        self.signature(RENEWAL, renewal)
    }

    fn signature(&self, purpose: &[u8], text: &[u8]) -> Result<Vec<u8>, String> {
        self.key.sign(&[purpose, text].concat()).map_err(|error| error.to_string())
    }

    fn prove(&self, signed: &AttestedGrant, grant: &Grant, now: UnixTime) -> Result<(), String> {
        let certificate = CertificateDer::from(signed.certificate.as_slice());
        let proven = || {
            let certificate = EndEntityCert::try_from(&certificate)?;
            verify(&certificate, &self.authority, FOR_SERVERS, now)?;
            certificate.verify_is_valid_for_subject_name(&ServerName::from(grant.address))?;
            let signed_text = [CONSENT, &signed.grant].concat();
            let algorithm = webpki::ring::ECDSA_P256_SHA256;
            certificate.verify_signature(algorithm, &signed_text, &signed.signature)?;
            Ok(certificate)
        };
        let certificate = proven().map_err(|error: webpki::Error| error.to_string())?;
        check_serial(certificate.serial(), &self.revoked)
    }
}

/// An unguessable number of the operating system's generator.
///
/// # Panics
/// If the system has none: consent depends on it.
pub fn random() -> u64 {
    let mut octets = [0; 8];
    SystemRandom::new().fill(&mut octets).expect("random octets from the operating system");
    u64::from_ne_bytes(octets)
}

/// Read a grant and verify it. Without a notary, in an agent without TLS, nothing is verified.
///
/// # Errors
/// By [`ConsentRule::ConsentUnproven`] if it cannot be read, or its proof is false.
pub fn read(
    signed: &AttestedGrant,
    notary: Option<&Notary>,
    now: UnixTime,
) -> Result<(Grant, Proof), Refusal> {
    let unproven = |error: &dyn Display| {
        Refusal::new(
            ConsentRule::ConsentUnproven,
            error,
            "a grant signed with a certificate of the authority that names the address",
        )
    };
    let grant: Grant = serde_json::from_slice(&signed.grant).map_err(|error| unproven(&error))?;
    let Some(notary) = notary else { return Ok((grant, Proof::None)) };
    notary.prove(signed, &grant, now).map_err(|error| unproven(&error))?;
    Ok((grant, Proof::Signed))
}

/// Read a renewal and prove it; `certificate_of` gives the certificate that its process has signed
/// grants with, `None` if no grant of it is in use. Without a notary nothing is proven. Returns
/// `None` of a process that does not matter here.
///
/// # Errors
/// By [`ConsentRule::ConsentUnproven`] if it cannot be read, or its signature is false.
pub fn read_renewal<'a>(
    text: &[u8],
    signature: &[u8],
    notary: Option<&Notary>,
    certificate_of: impl FnOnce(u64) -> Option<&'a [u8]>,
) -> Result<Option<LeaseRenewal>, Refusal> {
    let unproven = |error: &dyn Display| {
        Refusal::new(
            ConsentRule::ConsentUnproven,
            error,
            "a renewal signed with the certificate of the grants",
        )
    };
    let renewal: LeaseRenewal = serde_json::from_slice(text).map_err(|error| unproven(&error))?;
    let Some(certificate) = certificate_of(renewal.session) else { return Ok(None) };
    if notary.is_some() {
        // That it is of our authority and names the address was proven with the grants.
        let certificate = CertificateDer::from(certificate);
        EndEntityCert::try_from(&certificate)
            .and_then(|certificate| {
                let signed_text = [RENEWAL, text].concat();
                certificate.verify_signature(
                    webpki::ring::ECDSA_P256_SHA256,
                    &signed_text,
                    signature,
                )
            })
            .map_err(|error| unproven(&error))?;
    }
    Ok(Some(renewal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates;
    use crate::time::unix_time;
    use std::path::{Path, PathBuf};

    /// A directory that goes away.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            let name = format!("ethermeter-attest-{}-{:016x}", std::process::id(), random());
            Self(std::env::temp_dir().join(name))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).expect("a directory of ours");
        }
    }

    fn credentials(directory: &Path, name: &str) -> Credentials {
        let read = |name: String| std::fs::read(directory.join(name)).expect("a file just made");
        Credentials {
            certificate: read(format!("{name}.pem")),
            key: read(format!("{name}.key")),
            authority: read("authority.pem".into()),
        }
    }

    fn notary(directory: &Path, name: &str) -> Notary {
        Notary::new(&credentials(directory, name), Vec::new()).expect("good credentials")
    }

    fn grant(address: &str) -> Vec<u8> {
        let grant = Grant {
            experiment: 7,
            session: 3,
            number: 1,
            sender: "10.0.0.1".parse().expect("an address"),
            address: address.parse().expect("an address"),
            kind: ethermeter_station::consent::PortKind::Udp,
            cast: ethermeter_station::consent::Cast::Unicast,
            priority: None,
            network: "10.0.0.0/24".parse().expect("a network"),
            interface: "test0".into(),
            port: 5000,
            mac: None,
            rate_bps: 1,
            rate_frames_per_s: 1,
            longest_frame_octets: 64,
            duration_ns: 1,
            until_unix_s: 1,
        };
        serde_json::to_vec(&grant).expect("numbers")
    }

    #[test]
    fn a_grant_is_proven_by_the_certificate_of_its_address_and_by_nothing_else() {
        let (ours, others) = (Scratch::new(), Scratch::new());
        let hosts = ["10.0.0.1".to_owned(), "two=10.0.0.2".to_owned()];
        certificates::make(&ours.0, &hosts).expect("certificates");
        certificates::make(&others.0, &hosts).expect("certificates");
        let sender = notary(&ours.0, "10.0.0.1");
        let receiver = notary(&ours.0, "two");
        let now = unix_time();
        let rule = |signed: &AttestedGrant| {
            read(signed, Some(&sender), now).err().map(|refusal| refusal.rule)
        };
        let unproven = Some(ConsentRule::ConsentUnproven);

        let signed = receiver.sign(grant("10.0.0.2")).expect("a signature");
        assert_eq!(read(&signed, Some(&sender), now).expect("proven").1, Proof::Signed);

        let changed = AttestedGrant { grant: grant("10.0.0.1"), ..signed.clone() };
        assert_eq!(rule(&changed), unproven, "changed after signing");
        let for_another = receiver.sign(grant("10.0.0.3")).expect("a signature");
        assert_eq!(rule(&for_another), unproven, "an address that the certificate does not name");
        let stranger = notary(&others.0, "two").sign(grant("10.0.0.2")).expect("a signature");
        assert_eq!(rule(&stranger), unproven, "another authority");
        let swapped = AttestedGrant { certificate: stranger.certificate, ..signed.clone() };
        assert_eq!(rule(&swapped), unproven, "another's certificate");
        let coordinator =
            notary(&ours.0, "coordinator").sign(grant("10.0.0.2")).expect("a signature");
        assert_eq!(rule(&coordinator), unproven, "the coordinator");
        let unsigned = AttestedGrant { grant: grant("10.0.0.2"), ..AttestedGrant::default() };
        assert_eq!(rule(&unsigned), unproven, "no signature");
        assert_eq!(
            read(&unsigned, None, now).expect("readable").1,
            Proof::None,
            "an agent without TLS proves nothing"
        );
        assert_eq!(
            rule(&AttestedGrant { grant: b"{}".to_vec(), ..signed }),
            unproven,
            "no grant at all"
        );
        let year = Duration::from_secs(86_400 * (certificates::VALID_DAYS + 1));
        let later = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()) + year);
        let signed = receiver.sign(grant("10.0.0.2")).expect("a signature");
        assert!(read(&signed, Some(&sender), later).is_err(), "a certificate that has run out");
    }

    #[test]
    fn a_renewal_is_proven_by_the_certificate_of_the_grants_and_by_nothing_else() {
        let scratch = Scratch::new();
        certificates::make(&scratch.0, &["10.0.0.1".to_owned(), "10.0.0.2".to_owned()])
            .expect("certificates");
        let (sender, receiver) = (notary(&scratch.0, "10.0.0.1"), notary(&scratch.0, "10.0.0.2"));
        let text =
            serde_json::to_vec(&LeaseRenewal { session: 3, answers: Vec::new() }).expect("numbers");
        let certificate = receiver.certificate.to_vec();
        let read = |text: &[u8], signature: &[u8]| {
            let certificate_of = |session| (session == 3).then_some(certificate.as_slice());
            read_renewal(text, signature, Some(&sender), certificate_of)
                .map_err(|refusal| refusal.rule)
        };
        let signature = receiver.sign_renewal(&text).expect("a signature");
        assert_eq!(read(&text, &signature).map(|renewal| renewal.is_some()), Ok(true));
        let other =
            serde_json::to_vec(&LeaseRenewal { session: 4, answers: Vec::new() }).expect("numbers");
        assert_eq!(read(&other, &[]), Ok(None), "no grant of that process is in use");
        let unproven = Err(ConsentRule::ConsentUnproven);
        assert_eq!(
            read(&[&text[..], b" "].concat(), &signature),
            unproven,
            "changed after signing"
        );
        assert_eq!(
            read(&text, &sender.sign_renewal(&text).expect("a signature")),
            unproven,
            "another's key"
        );
        let as_consent = receiver.sign(text.clone()).expect("a signature").signature;
        assert_eq!(read(&text, &as_consent), unproven, "signed as consent");
        assert_eq!(read(b"{}", &signature), unproven, "no renewal at all");
        assert!(
            read_renewal(&text, &[], None, |_| Some(&[])).expect("readable").is_some(),
            "without TLS"
        );
    }

    #[test]
    fn a_coordinator_has_a_certificate_for_coordinators_that_nobody_has_revoked() {
        let (ours, others) = (Scratch::new(), Scratch::new());
        for scratch in [&ours, &others] {
            certificates::make(&scratch.0, &["10.0.0.1".to_owned()]).expect("certificates");
        }
        let now = unix_time();
        let path_in = |scratch: &Scratch, name: &str| {
            let pem = credentials(&scratch.0, name);
            let read = |pem: &[u8]| CertificateDer::from_pem_slice(pem).expect("a certificate");
            (read(&pem.certificate), read(&pem.authority))
        };
        let (coordinator, authority) = path_in(&ours, "coordinator");
        let check = |certificate: &CertificateDer<'_>, revoked: &[CertificateSerial]| {
            check_coordinator(certificate, &authority, revoked, now)
        };
        assert_eq!(check(&coordinator, &[]), Ok(()));
        assert!(check(&path_in(&ours, "10.0.0.1").0, &[]).is_err(), "a host");
        assert!(check(&path_in(&others, "coordinator").0, &[]).is_err(), "another authority");
        let serial =
            EndEntityCert::try_from(&coordinator).expect("a certificate").serial().to_vec();
        let digits = serial.iter().map(|octet| format!("{octet:02X}")).collect::<Vec<_>>().concat();
        let serial = |text: &str| text.parse::<CertificateSerial>().expect("a serial number");
        assert!(check(&coordinator, &[serial("00ff")]).is_ok(), "another is revoked");
        assert!(check(&coordinator, &[serial("00ff"), serial(&digits)]).is_err(), "it is revoked");
    }

    #[test]
    fn an_agent_learns_at_its_start_that_nobody_will_accept_its_certificate() {
        let (ours, others) = (Scratch::new(), Scratch::new());
        for scratch in [&ours, &others] {
            certificates::make(&scratch.0, &["10.0.0.1".to_owned()]).expect("certificates");
        }
        let now = unix_time();
        let in_days = |days: u64| {
            UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs() + 86_400 * days))
        };
        let own = ["10.0.0.1".parse().expect("an address")];
        let (agent, last) = (notary(&ours.0, "10.0.0.1"), certificates::VALID_DAYS - 2);
        assert_eq!(agent.check(&own, now), Ok(Vec::new()));
        let warned =
            |warnings: Result<Vec<String>, String>| warnings.expect("it is accepted").join("");
        assert!(warned(agent.check(&own, in_days(last))).contains("within 30 days"));
        assert!(warned(agent.check(&[], now)).contains("no address of this host"));
        assert!(agent.check(&own, in_days(last + 3)).is_err(), "it has run out");
        assert!(notary(&ours.0, "coordinator").check(&own, now).is_err(), "not for hosts");
        let foreign = Credentials {
            authority: credentials(&others.0, "10.0.0.1").authority,
            ..credentials(&ours.0, "10.0.0.1")
        };
        let foreign = Notary::new(&foreign, Vec::new()).expect("good credentials");
        assert!(foreign.check(&own, now).is_err(), "of another authority");
    }

    #[test]
    fn keys_are_readable_by_their_owner_only_and_nothing_is_overwritten() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new();
        let hosts = ["127.0.0.1".to_owned()];
        certificates::make(&scratch.0, &hosts).expect("certificates");
        let mode = |name: &str| {
            let metadata = std::fs::metadata(scratch.0.join(name)).expect("a file just made");
            metadata.permissions().mode() & 0o777
        };
        assert_eq!([mode("127.0.0.1.key"), mode("coordinator.key")], [0o600, 0o600]);
        assert!(!scratch.0.join("authority.key").exists(), "the authority's key is not kept");
        let fault = certificates::make(&scratch.0, &hosts).expect_err("they are there").to_string();
        assert!(fault.contains("authority.pem"), "{fault}");
    }

    #[test]
    fn names_that_would_leave_the_directory_are_refused() {
        let scratch = std::env::temp_dir().join("ethermeter-never-made");
        for name in ["../x", "a/b", "", ".hidden", "authority", "coordinator", "a b", "x=../y"] {
            let fault =
                certificates::make(&scratch, &[name.to_owned()]).expect_err("no name of a host");
            assert!(matches!(fault, certificates::CertificateError::Name(_)), "{name}: {fault}");
        }
        assert!(!scratch.exists());
    }
}
