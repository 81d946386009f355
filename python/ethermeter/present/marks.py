"""Marks: letters beside values of a table that have cautions, and what they mean."""

from collections.abc import Iterable, Iterator, Sequence

from ethermeter.blocks import Text
from ethermeter.metrics import Caution

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Marks:
    """The marks of one table, lettered in the order of the closed list.

    A caution that every value of the table has is written once below it and marks none of them.
    `no-samples` marks nothing: a value without samples is a dash.

    Parameters
    ----------
    values
        The cautions of each value that the table shows.

    Examples
    --------
    >>> marks = Marks([["few-samples"], []])
    >>> marks.at(["few-samples"]), marks.at([])
    ('[a]', '')
    >>> marks.legend()[0][:28]
    '[a] few-samples: fewer than '

    """

    def __init__(self, values: Iterable[Sequence[str]]) -> None:
        sets = [set(words) - {Caution.NO_SAMPLES} for words in values]
        self._common = set[str].intersection(*sets) if len(sets) > 1 else set[str]()
        marked = set[str]().union(*sets) - self._common
        self._letters = dict(
            zip((str(word) for word in Caution if word in marked), _LETTERS, strict=False)
        )

    def at(self, words: Sequence[str]) -> str:
        """Return the mark of a value with these cautions; empty without any that is marked."""
        letters = sorted(self._letters[word] for word in words if word in self._letters)
        return f"[{''.join(letters)}]" if letters else ""

    def legend(self, of_run: Sequence[str] = ()) -> list[str]:
        """Return a line for each mark, for each caution of all values, and of the whole run."""
        lines = [
            f"[{letter}] {word}: {Caution(word).meaning}" for word, letter in self._letters.items()
        ]
        lines += [f"all values: {word}: {word.meaning}" for word in Caution if word in self._common]
        return lines + [f"{word}: {Caution(word).meaning}" for word in of_run]


def legend(lines: Iterable[str]) -> Iterator[Text]:
    """Lay out what the marks of a table mean, one text a mark."""
    return (Text(line, indent="    ") for line in lines)
