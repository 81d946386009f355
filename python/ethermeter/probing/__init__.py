"""Probes of a host by what answers there: an agent, a STAMP reflector, iperf3 -s."""
