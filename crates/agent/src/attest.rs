//! Signed consent: a receiver signs its yes with the key of its certificate, so that nobody else can say yes for its address; a coordinator neither.

use crate::consent::{Grant, Proof};
use crate::refusal::{Refusal, Rule};
use rcgen::{KeyPair, SigningKey};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::fmt::Display;
use webpki::{anchor_from_trusted_cert, EndEntityCert, KeyUsage, ALL_VERIFICATION_ALGS};

/// A certificate, its key and the authority that others' certificates must come from; all as PEM.
#[derive(Clone)]
pub struct Credentials {
    /// The certificate.
    pub certificate: Vec<u8>,
    /// Its key.
    pub key: Vec<u8>,
    /// The authority's certificate.
    pub authority: Vec<u8>,
}

/// Signs what a receiver says, and proves what others say.
pub struct Notary {
    key: KeyPair,
    certificate: CertificateDer<'static>,
    authority: CertificateDer<'static>,
}

/// What was said, and what proves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signed {
    /// A [`Grant`] as JSON: exactly what was signed.
    pub grant: Vec<u8>,
    /// The signature, ASN.1; empty without TLS.
    pub signature: Vec<u8>,
    /// The certificate, DER; empty without TLS.
    pub certificate: Vec<u8>,
}

/// What is signed begins with this, so that a signature for something else is none for consent.
const PURPOSE: &[u8] = b"ethermeter consent 1\n";

impl Notary {
    /// One with these credentials.
    ///
    /// # Errors
    /// If one of them cannot be read, or the key is not one of ECDSA on P-256.
    pub fn new(credentials: &Credentials) -> Result<Self, String> {
        let key = std::str::from_utf8(&credentials.key).map_err(|error| format!("key: {error}"))?;
        let key = KeyPair::from_pem(key).map_err(|error| format!("key: {error}"))?;
        if !key.is_compatible(&rcgen::PKCS_ECDSA_P256_SHA256) {
            return Err("key: must be of ECDSA on the curve P-256".into());
        }
        let read =
            |pem: &[u8], what: &str| CertificateDer::from_pem_slice(pem).map_err(|error| format!("{what}: {error}"));
        let certificate = read(&credentials.certificate, "certificate")?;
        let authority = read(&credentials.authority, "authority")?;
        anchor_from_trusted_cert(&authority).map_err(|error| format!("authority: {error}"))?;
        Ok(Self { key, certificate, authority })
    }

    /// Sign a yes.
    ///
    /// # Errors
    /// If signing fails.
    pub fn sign(&self, grant: Vec<u8>) -> Result<Signed, String> {
        let signature = self.key.sign(&[PURPOSE, &grant].concat()).map_err(|error| error.to_string())?;
        Ok(Signed { grant, signature, certificate: self.certificate.to_vec() })
    }

    fn prove(&self, signed: &Signed, grant: &Grant, now: UnixTime) -> Result<(), webpki::Error> {
        let certificate = CertificateDer::from(signed.certificate.as_slice());
        let certificate = EndEntityCert::try_from(&certificate)?;
        let anchor = anchor_from_trusted_cert(&self.authority)?;
        certificate.verify_for_usage(
            ALL_VERIFICATION_ALGS,
            &[anchor],
            &[],
            now,
            KeyUsage::server_auth(),
            None,
            None,
        )?;
        certificate.verify_is_valid_for_subject_name(&ServerName::from(grant.address))?;
        let said = [PURPOSE, &signed.grant].concat();
        certificate.verify_signature(webpki::ring::ECDSA_P256_SHA256, &said, &signed.signature)
    }
}

/// Read a yes and see what proves it. Without a notary, that is an agent without TLS, nothing does.
///
/// # Errors
/// By [`Rule::ConsentUnproven`] if it cannot be read, or its proof is false.
pub fn read(signed: &Signed, notary: Option<&Notary>, now: UnixTime) -> Result<(Grant, Proof), Refusal> {
    let unproven = |error: &dyn Display| {
        Refusal::new(
            Rule::ConsentUnproven,
            error,
            "a yes signed with a certificate of the authority that names the address",
        )
    };
    let grant: Grant = serde_json::from_slice(&signed.grant).map_err(|error| unproven(&error))?;
    let Some(notary) = notary else { return Ok((grant, Proof::None)) };
    notary.prove(signed, &grant, now).map_err(|error| unproven(&error))?;
    Ok((grant, Proof::Signed))
}
