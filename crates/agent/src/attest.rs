//! Signed consent: a receiver signs a grant with the key of its certificate, so that no other host
//! can grant for its address, not even the coordinator.

use crate::protocol::{SignedGrant, SignedRenewal};
use ethermeter_station::consent::{CertificateSerial, Grant, LeaseRenewal, Proof};
use ethermeter_station::refusal::{ConsentRule, Refusal};
use rcgen::{KeyPair, SigningKey};
use ring::rand::{SecureRandom, SystemRandom};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use serde::Serialize;
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

/// A signed text begins with its purpose, so that a signature for another purpose is not valid.
const CONSENT: &[u8] = b"ethermeter consent 4\n";
const RENEWAL: &[u8] = b"ethermeter renewal 2\n";

/// What is signed: the purpose, and the JSON of a value. Who verifies it writes the value anew, so
/// that nothing is signed but what was read.
fn signed_text(purpose: &[u8], value: &impl Serialize) -> Vec<u8> {
    let mut text = purpose.to_vec();
    if serde_json::to_writer(&mut text, value).is_err() {
        unreachable!("grants and renewals are numbers and words");
    }
    text
}

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
    pub fn sign(&self, grant: Grant) -> Result<SignedGrant, String> {
        let signature = self.signature(CONSENT, &grant)?;
        Ok(SignedGrant { grant, signature, certificate: self.certificate.to_vec() })
    }

    /// Sign a renewal of grants.
    pub fn sign_renewal(&self, renewal: LeaseRenewal) -> Result<SignedRenewal, String> {
        let signature = self.signature(RENEWAL, &renewal)?;
        Ok(SignedRenewal { renewal, signature })
    }

    fn signature(&self, purpose: &[u8], of: &impl Serialize) -> Result<Vec<u8>, String> {
        self.key.sign(&signed_text(purpose, of)).map_err(|error| error.to_string())
    }

    fn prove(&self, signed: &SignedGrant, now: UnixTime) -> Result<(), String> {
        let certificate = CertificateDer::from(signed.certificate.as_slice());
        let proven = || {
            let certificate = EndEntityCert::try_from(&certificate)?;
            verify(&certificate, &self.authority, FOR_SERVERS, now)?;
            let name = ServerName::from(signed.grant.address);
            certificate.verify_is_valid_for_subject_name(&name)?;
            let text = signed_text(CONSENT, &signed.grant);
            let algorithm = webpki::ring::ECDSA_P256_SHA256;
            certificate.verify_signature(algorithm, &text, &signed.signature)?;
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

/// Verify a grant. Without a notary, in an agent without TLS, nothing is verified.
///
/// # Errors
/// By [`ConsentRule::ConsentUnproven`] if its proof is false.
pub fn prove(
    signed: &SignedGrant,
    notary: Option<&Notary>,
    now: UnixTime,
) -> Result<Proof, Refusal> {
    let Some(notary) = notary else { return Ok(Proof::None) };
    let allowed = "a grant signed with a certificate of the authority that names the address";
    let unproven = |error| Refusal::new(ConsentRule::ConsentUnproven, error, allowed);
    notary.prove(signed, now).map_err(unproven)?;
    Ok(Proof::Signed)
}

/// Prove a renewal; `certificate_of` gives the certificate that its process has signed grants with,
/// `None` if no grant of it is in use. Without a notary nothing is proven. Returns `false` of a
/// process that does not matter here.
///
/// # Errors
/// By [`ConsentRule::ConsentUnproven`] if its signature is false.
pub fn prove_renewal<'a>(
    signed: &SignedRenewal,
    notary: Option<&Notary>,
    certificate_of: impl FnOnce(u64) -> Option<&'a [u8]>,
) -> Result<bool, Refusal> {
    let SignedRenewal { renewal, signature } = signed;
    let Some(certificate) = certificate_of(renewal.session) else { return Ok(false) };
    if notary.is_some() {
        // That it is of our authority and names the address was proven with the grants.
        let certificate = CertificateDer::from(certificate);
        EndEntityCert::try_from(&certificate)
            .and_then(|certificate| {
                let text = signed_text(RENEWAL, renewal);
                certificate.verify_signature(webpki::ring::ECDSA_P256_SHA256, &text, signature)
            })
            .map_err(|error| {
                let allowed = "a renewal signed with the certificate of the grants";
                Refusal::new(ConsentRule::ConsentUnproven, error, allowed)
            })?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates;
    use crate::time::unix_time;
    use ethermeter_station::consent::ChallengeAnswer;
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

    fn grant(address: &str) -> Grant {
        Grant {
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
        }
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
        let rule = |signed: &SignedGrant| {
            prove(signed, Some(&sender), now).err().map(|refusal| refusal.rule)
        };
        let unproven = Some(ConsentRule::ConsentUnproven);

        let signed = receiver.sign(grant("10.0.0.2")).expect("a signature");
        assert_eq!(prove(&signed, Some(&sender), now), Ok(Proof::Signed));

        for grant in [
            grant("10.0.0.1"),
            Grant { rate_bps: 2, ..grant("10.0.0.2") },
            Grant { priority: Some(0), ..grant("10.0.0.2") },
        ] {
            let changed = SignedGrant { grant, ..signed.clone() };
            assert_eq!(rule(&changed), unproven, "changed after signing");
        }
        let for_another = receiver.sign(grant("10.0.0.3")).expect("a signature");
        assert_eq!(rule(&for_another), unproven, "an address that the certificate does not name");
        let stranger = notary(&others.0, "two").sign(grant("10.0.0.2")).expect("a signature");
        assert_eq!(rule(&stranger), unproven, "another authority");
        let swapped = SignedGrant { certificate: stranger.certificate, ..signed.clone() };
        assert_eq!(rule(&swapped), unproven, "another's certificate");
        let coordinator =
            notary(&ours.0, "coordinator").sign(grant("10.0.0.2")).expect("a signature");
        assert_eq!(rule(&coordinator), unproven, "the coordinator");
        let unsigned = SignedGrant {
            grant: grant("10.0.0.2"),
            signature: Vec::new(),
            certificate: Vec::new(),
        };
        assert_eq!(rule(&unsigned), unproven, "no signature");
        let plain = prove(&unsigned, None, now);
        assert_eq!(plain, Ok(Proof::None), "an agent without TLS proves nothing");
        let year = Duration::from_secs(86_400 * (certificates::VALID_DAYS + 1));
        let later = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()) + year);
        let signed = receiver.sign(grant("10.0.0.2")).expect("a signature");
        assert!(prove(&signed, Some(&sender), later).is_err(), "a certificate that has run out");
    }

    #[test]
    fn a_renewal_is_proven_by_the_certificate_of_the_grants_and_by_nothing_else() {
        let scratch = Scratch::new();
        certificates::make(&scratch.0, &["10.0.0.1".to_owned(), "10.0.0.2".to_owned()])
            .expect("certificates");
        let (sender, receiver) = (notary(&scratch.0, "10.0.0.1"), notary(&scratch.0, "10.0.0.2"));
        let renewal = |session| LeaseRenewal { session, answers: Vec::new() };
        let certificate = receiver.certificate.to_vec();
        let prove = |signed: &SignedRenewal, notary: Option<&Notary>| {
            let certificate_of = |session| (session == 3).then_some(certificate.as_slice());
            prove_renewal(signed, notary, certificate_of).map_err(|refusal| refusal.rule)
        };
        let signed = receiver.sign_renewal(renewal(3)).expect("a signature");
        assert_eq!(prove(&signed, Some(&sender)), Ok(true));
        let other = SignedRenewal { renewal: renewal(4), signature: Vec::new() };
        assert_eq!(prove(&other, Some(&sender)), Ok(false), "no grant of that process is in use");
        let unproven = Err(ConsentRule::ConsentUnproven);
        let answer = ChallengeAnswer { run: 1, nonce: 1, valid_ns: 1, grants: vec![1] };
        let longer = LeaseRenewal { session: 3, answers: vec![answer] };
        let changed = SignedRenewal { renewal: longer, ..signed.clone() };
        assert_eq!(prove(&changed, Some(&sender)), unproven, "changed after signing");
        let of_another = sender.sign_renewal(renewal(3)).expect("a signature");
        assert_eq!(prove(&of_another, Some(&sender)), unproven, "another's key");
        let signature = receiver.signature(CONSENT, &renewal(3)).expect("a signature");
        let as_consent = SignedRenewal { signature, ..signed };
        assert_eq!(prove(&as_consent, Some(&sender)), unproven, "signed as consent");
        let unsigned = SignedRenewal { signature: Vec::new(), ..as_consent };
        assert_eq!(prove(&unsigned, None), Ok(true), "without TLS");
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
