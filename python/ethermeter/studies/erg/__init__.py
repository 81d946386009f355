"""ERG, University of Aberdeen: LAN tests with a UDP traffic generator and sink."""
