"""Two hosts measured as `docs/how-to/measure-two-hosts.md` shows it, in network namespaces."""

import contextlib
import json
import shlex
import subprocess
from pathlib import Path

import pytest
from documents import blocks, commands, environment, page, shell

PAGE = page("docs/how-to/measure-two-hosts.md")


@pytest.fixture
def hosts(up):
    """Namespace and address of two hosts on a switch that stays, and of one to measure from."""
    made = up("hosts=3", "rate=1 Gb/s")
    return [(host["namespace"], host["ipv4"].partition("/")[0]) for host in made["hosts"]]


def within(namespace: str, command: str) -> str:
    return f"ip netns exec {namespace} {command}"


@contextlib.contextmanager
def agent(namespace: str, command: str, folder: Path):
    """Run the command of an agent in a host's own folder."""
    with subprocess.Popen(
        shlex.split(within(namespace, command)),
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("listening on ")
            yield
        finally:
            process.terminate()


@pytest.mark.root
@pytest.mark.slow
def test_two_hosts_are_measured_with_certificates_and_their_json_is_read(tmp_path, hosts):
    of_hosts, ceilings = blocks(PAGE, "toml")
    init, start, check, measure = commands(PAGE, needs="hosts")[:4]
    (sender, sender_address), (sink, sink_address), (here, _) = hosts
    for shown, address in (("10.0.0.1", sender_address), ("10.0.0.2", sink_address)):
        of_hosts, ceilings, start = (
            text.replace(shown, address) for text in (of_hosts, ceilings, start)
        )
    (tmp_path / "hosts.toml").write_text(of_hosts, encoding="utf-8")
    said = shell(init, cwd=tmp_path)
    assert start in said, "the command that is printed is not the one of the page"
    other = next(line.strip() for line in said.splitlines() if sink_address in line)
    with contextlib.ExitStack() as agents:
        for name, namespace, command in (("sender", sender, start), ("sink", sink, other)):
            folder = tmp_path / name
            folder.mkdir()
            for file in (f"{name}.pem", f"{name}.key", "authority.pem"):
                (folder / file).write_bytes((tmp_path / "lab" / file).read_bytes())
            (folder / "ceilings.toml").write_text(ceilings, encoding="utf-8")
            agents.enter_context(agent(namespace, command, folder))
        assert "state: ready" in shell(  # of both; tests may keep them busy
            within(here, f"{check} || test $? -eq 4"), cwd=tmp_path
        )
        result = json.loads(shell(within(here, measure), cwd=tmp_path))
    rates = [
        point["estimates"]["goodput"]["value"]
        for point in result["estimates"]["points"]
        if point["engine"] == "live"
    ]
    assert rates
    assert all(rate > 0 for rate in rates)
