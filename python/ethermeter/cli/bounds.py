"""What theory says of networks, printed beside what was simulated and measured."""

from typing import TYPE_CHECKING

from ethermeter.cli.output import show

if TYPE_CHECKING:
    from ethermeter.analysis.bounds import Answers


def print_bounds(found: "Answers") -> None:
    """Print the times of flows and the queues of ports, and what is above its bound."""
    from ethermeter.present.bounds import bounds

    show(bounds(found))
