"""ethermeter: an Ethernet capacity laboratory."""
