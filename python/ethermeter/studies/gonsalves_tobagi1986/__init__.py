"""Gonsalves and Tobagi, station location on an Ethernet, 1986."""
