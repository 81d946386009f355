"""Signs of life of a cluster: who is silent for how long."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from ethermeter.engines import cluster
from ethermeter.engines.work import LostClusterError
from program import eventually

ADDRESS = "tcp://192.0.2.1:8786"


class Loop:
    """An event loop on a thread, as a client of Dask has one."""

    def __init__(self) -> None:
        self.asyncio_loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.asyncio_loop.run_forever, daemon=True)
        self.thread.start()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._rest(), self.asyncio_loop).result()
        self.asyncio_loop.call_soon_threadsafe(self.asyncio_loop.stop)
        self.thread.join()
        self.asyncio_loop.close()

    async def _rest(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)


class Client:
    """A client, the scheduler that it asks, and a clock that a test sets."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.scheduler, self.status = loop, self, "running"
        self.now_s = 0.0
        self.silent = False
        self.asked = 0
        self.last_seen: dict[str, float] = {}

    async def identity(self) -> dict[str, Any]:
        self.asked += 1
        if self.silent:
            raise OSError("timed out")
        return {"workers": {name: {"last_seen": at} for name, at in self.last_seen.items()}}

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    loop = Loop()
    client = Client(loop)
    monkeypatch.setattr(cluster, "time", client)
    yield client
    loop.close()


def pass_by(client: Client, pulse: cluster._Pulse, seconds: int, *, working: bool) -> None:
    """Let time pass; a worker that works is seen every second."""
    for _ in range(seconds):
        client.now_s += 1.0
        if working:
            client.last_seen["tcp://192.0.2.2:1"] = client.now_s
        pulse.feel()
        if pulse._look is not None:
            eventually(pulse._look.done)


def test_who_gives_signs_of_life_is_not_lost(client):
    pulse = cluster._Pulse(client, ADDRESS)
    pass_by(client, pulse, 100, working=True)
    assert client.asked >= 30


def test_a_scheduler_that_is_silent_is_lost_after_a_while(client):
    pulse = cluster._Pulse(client, ADDRESS)
    pass_by(client, pulse, 50, working=True)
    client.silent = True
    pass_by(client, pulse, cluster.ANSWER_S - 4, working=True)
    with pytest.raises(LostClusterError, match="the scheduler has not answered for 20 s"):
        pass_by(client, pulse, 8, working=True)


@pytest.mark.parametrize("leaves", [False, True])
def test_workers_of_which_none_is_seen_any_more_are_lost_after_a_while(client, leaves):
    pulse = cluster._Pulse(client, ADDRESS)
    pass_by(client, pulse, 50, working=True)
    if leaves:
        client.last_seen.clear()
    pass_by(client, pulse, cluster.ANSWER_S - 4, working=False)
    with pytest.raises(LostClusterError, match="no worker has given a sign of life for 20 s"):
        pass_by(client, pulse, 8, working=False)


def test_a_process_that_was_held_up_itself_blames_nobody(client):
    pulse = cluster._Pulse(client, ADDRESS)
    pass_by(client, pulse, 10, working=True)
    client.now_s += 1000.0
    pass_by(client, pulse, 10, working=True)


def test_a_connection_that_is_lost_is_told_at_once(client):
    pulse = cluster._Pulse(client, ADDRESS)
    client.status = "connecting"
    with pytest.raises(LostClusterError, match=f"cluster {ADDRESS}: the connection"):
        pulse.feel()
