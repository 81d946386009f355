"""A site of calls, cameras and backups over one uplink, as a person writes it: a text to format."""

SITE = """
title = "A site"
[network]
rate = "100 Mb/s"

[[network.hosts]]
name = "phone"
count = 30

[[network.hosts]]
name = "camera"
count = {cameras}

[[network.hosts]]
name = "desk"

[[network.hosts]]
name = "server"

[[network.switches]]
name = "floor"
queue_size = "500 kB"

[[network.switches]]
name = "core"

[[network.links]]
ends = ["phone", "floor"]

[[network.links]]
ends = ["camera", "floor"]

[[network.links]]
ends = ["desk", "floor"]

[[network.links]]
ends = ["floor", "core"]

[[network.links]]
ends = ["core", "server"]
rate = "1 Gb/s"

[[flows]]
name = "calls"
from = "phone"
to = "server"
data = "172 B"
arrivals = {{ regular = "20 ms" }}

[[flows]]
name = "cameras"
from = "camera"
to = "server"
data = "1472 B"
arrivals = {{ regular = "2 ms" }}

[[flows]]
name = "backups"
from = "desk"
to = "server"
data = "1472 B"
arrivals = {{ token_bucket = {{ rate = "32 Mb/s", burst = "30 kB" }} }}

[phases]
transmit = "0.2 s"
"""
