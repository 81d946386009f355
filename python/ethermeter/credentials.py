"""Credentials: certificates of agents and of coordinators, in files beside each other."""

from pathlib import Path

Credentials = tuple[bytes, bytes, bytes]
"""Certificate, key and authority, as PEM."""
AUTHORITY = "authority.pem"


def read(certificate: Path) -> Credentials:
    """Read a certificate such as sender.pem and, beside it, its key and its authority.

    `OSError` of the first file that cannot be read.
    """
    return (
        certificate.read_bytes(),
        certificate.with_suffix(".key").read_bytes(),
        certificate.with_name(AUTHORITY).read_bytes(),
    )
