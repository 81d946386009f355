"""Boggs, Mogul and Kent, Measured Capacity of an Ethernet: Myths and Reality, WRL 88/4, 1988."""
