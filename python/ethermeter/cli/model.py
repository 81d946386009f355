"""The command that lists, shows and evaluates models."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ethermeter.api.model import ModelOptions, model
from ethermeter.cli.command import Command
from ethermeter.json_values import plain

if TYPE_CHECKING:
    from ethermeter.models.admission import Admission
    from ethermeter.models.catalogue import Description, Title
    from ethermeter.models.evaluation import Evaluation

    Answer = tuple[Title, ...] | Description | Evaluation | Admission

EXAMPLES = """\
  ethermeter model
  ethermeter model lam-1980
  ethermeter model metcalfe-boggs-1976 stations=1..24 packet_bits="64 B" rate_bps="10 Mb/s" \
slot_s="12 us"
  ethermeter model tobagi-hunt-1980-one-persistent load=1e-3..1e3/13log propagation=0.01,0.1
  ethermeter model lam-1980 arrival_rate=100,200 packet_s="1 ms,2 ms" weights=3,1 lengths=mix \
propagation_s="10 us"
  ethermeter model emodel delay="0 ms..400 ms/9" loss=0,1%,5% codec=g711-plc
  ethermeter model emodel delay="150 ms" loss=2% codec=g729a wanted=3.6 TELR=45 --json
  ethermeter model codecs codec=g711,g729a packet="10 ms,20 ms" standard=ieee-10
  ethermeter model talkers talkers=80 room=35..45
  ethermeter model erlang circuits=40 blocking=0.1%,1%
  ethermeter model admission run=runs/voice offered=15,20,25"""
FORMER = (
    *("activity", "advantage", "bit-rate", "blocking", "bpl", "burst-ratio", "circuits", "codec"),
    *("delay", "exceeding", "ie", "ip", "jitter-buffer", "limit", "listen", "load", "loss", "most"),
    *("network", "offered", "packet", "pattern", "room", "series", "standard", "talkers", "wanted"),
)
"""Options of the commands of voice, which are arguments of their models."""


def blocks(answer: "Answer", options: ModelOptions) -> Iterable[object]:
    """Return what a terminal shows of an answer."""
    from ethermeter.models.admission import Admission
    from ethermeter.models.catalogue import Description
    from ethermeter.models.catalogue import model as named
    from ethermeter.models.evaluation import Evaluation
    from ethermeter.present import models
    from ethermeter.present.admission import admission

    match answer:
        case Admission():
            return admission(answer)
        case Evaluation():
            return models.evaluation(named(answer.model), answer)
        case Description():
            return models.model(answer)
    return models.catalogue(answer)


def rows(answer: "Answer") -> Iterator[dict[str, object]]:
    """Yield a row for each model, argument of a model, point, or outcome of calls offered."""
    from ethermeter.models.admission import Admission
    from ethermeter.models.catalogue import Description
    from ethermeter.models.evaluation import Evaluation

    match answer:
        case Evaluation():
            yield from answer.rows()
            return
        case Admission():
            of: Iterable[object] = answer.outcomes
        case Description():
            of = answer.symbols
        case _:
            of = answer
    for each in of:
        row = plain(each)
        assert isinstance(row, dict), "a row is a dataclass"
        yield row


COMMAND = Command(
    model,
    EXAMPLES,
    blocks=blocks,
    rows=rows,
    former={
        **{f"--{name}": f"{name.replace('-', '_')}=VALUE" for name in FORMER},
        "--at": "KEY=VALUE",
        "--connection": "NAME=VALUE",
        "--simple": "model cole-rosenbluth-2001",
    },
)
