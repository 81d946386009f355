"""Networks that a testbed refuses before it makes anything."""

import pytest
from ethermeter.faults import InputError
from ethermeter.testbed.elements import Wire
from ethermeter.testbed.network import Link, Network, make_network


@pytest.mark.parametrize(("count", "is_refused"), [(65, True), (64, False)])
def test_more_relayed_links_than_a_relay_has_are_refused_before_anything_is_made(count, is_refused):
    hosts = [f"h{number}" for number in range(count)]
    # A rate that is refused in any case, so that the smaller network is not made either.
    wire = Wire(1, kind="relay")
    links = [Link((host, "s"), (wire, wire)) for host in hosts]
    with pytest.raises(InputError) as caught, make_network(Network(hosts, ["s"], links)):
        pass
    assert any(fault.key == "links" for fault in caught.value.faults) == is_refused
