//! A private authority and certificates, for stations that belong to one laboratory.

use crate::attest::COORDINATOR;
use crate::time::unix_time;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Days for which certificates are valid.
pub const VALID_DAYS: u64 = 397;

/// Why certificates could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A name is no name of a file or a host.
    #[error(
        "host = {0:?}: must be letters, digits, dots, colons and hyphens, and none of authority and coordinator"
    )]
    Name(String),
    /// A file could not be written, or is there already.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A key or certificate could not be made.
    #[error("making a certificate: {0}")]
    Make(#[from] rcgen::Error),
}

/// Make an authority, a certificate for a coordinator and one for each host in `directory`; keys
/// are readable by their owner only. Nothing that exists is overwritten.
///
/// A host is `NAME` or `NAME=ADDRESS=ADDRESS…`; the certificate names it all. Where a host's name
/// is an address, that is enough.
///
/// The key of the authority is not kept: more certificates need a new authority.
///
/// # Errors
/// If a name is not valid, or a file exists.
pub fn make(directory: &Path, hosts: &[String]) -> Result<(), CertificateError> {
    let hosts: Vec<Vec<&str>> = hosts.iter().map(|host| host.split('=').collect()).collect();
    for name in hosts.iter().flatten() {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".:-".contains(letter);
        let is_name =
            !name.is_empty() && !name.starts_with(['.', '-']) && name.chars().all(is_plain);
        if !is_name || ["authority", COORDINATOR].contains(name) {
            return Err(CertificateError::Name((*name).to_owned()));
        }
    }
    let failed = |source| CertificateError::File { path: directory.display().to_string(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
    let mut params = parameters("ethermeter authority", &[])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate()?;
    let authority = params.self_signed(&key)?;
    let issuer = Issuer::new(params, key);
    write(directory, "authority.pem", &authority.pem(), 0o644)?;
    let issue = |name: &str, names: &[&str], usage| {
        let mut params = parameters(name, names)?;
        params.extended_key_usages = vec![usage];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        write(directory, &format!("{name}.pem"), &certificate.pem(), 0o644)?;
        write(directory, &format!("{name}.key"), &key.serialize_pem(), 0o600)
    };
    // Agents cannot coordinate and the coordinator cannot grant: their certificates are for one
    // thing each.
    issue(COORDINATOR, &[COORDINATOR], ExtendedKeyUsagePurpose::ClientAuth)?;
    hosts.iter().try_for_each(|names| issue(names[0], names, ExtendedKeyUsagePurpose::ServerAuth))
}

fn parameters(common_name: &str, names: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    let now = UNIX_EPOCH + Duration::from_secs(unix_time().as_secs());
    let day = Duration::from_secs(86_400);
    // A day earlier: clocks of hosts differ.
    params.not_before = (now - day).into();
    params.not_after = (now + day * u32::try_from(VALID_DAYS).expect("a year")).into();
    Ok(params)
}

fn write(directory: &Path, name: &str, text: &str, mode: u32) -> Result<(), CertificateError> {
    let path = directory.join(name);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|source| CertificateError::File { path: path.display().to_string(), source })
}
