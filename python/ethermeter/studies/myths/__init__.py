"""Myths about the Ethernet: sections 2.4 and 2.5 of Boggs, Mogul and Kent (1988)."""
