"""Gonsalves, Packet-Voice Communication on an Ethernet, Stanford CSL TR 230, 1982."""
