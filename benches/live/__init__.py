"""Live stations and their peers on one pair of hosts: frames per CPU-second, round trips, pacing.

`python -m benches.live` measures; needs root. The hosts are network namespaces on virtual Ethernet.
A sender has the first processor and a receiver the second, for our station and for the peers alike.
CPU time is that of the processes: on virtual Ethernet the kernel's work for a frame, the receiver's
share included, is done in the call that sends it.
"""
