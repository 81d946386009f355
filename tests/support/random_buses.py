"""Random buses of 10BASE-T1S whose nodes take turns, without faults, as experiment files."""

import random

LENGTHS = (
    *("64 B", "64 B", "42 B", "66 B", "67 B", "128 B"),
    *("64 B x 3 + 256 B x 1", "1518 B", "64 B x 9 + 1518 B x 1"),
)


def random_bus(chance: random.Random, *, transmit_ms: int) -> str:
    """Return the text of a file: node counts, lengths, loads, bursts and IDs are random."""
    count = chance.choice([2, 3, 5, 9, 9, 17, 30, 41])
    bursts = chance.choice([0, 0, 0, 1, 3])
    phy = chance.choice(
        ["", '[segment.phy]\ntransmit = "280 ns"\ncarrier_on = "720 ns"\ncarrier_off = "880 ns"\n']
    )
    text = (
        'title = "a random bus"\n[phases]\nsettle = "1 ms"\n'
        f'transmit = "{transmit_ms} ms"\nmeasure = "all"\n[segment]\nstandard = "10base-t1s"\n'
        f'length = "{chance.choice(["1 mm", "10 m", "25 m"])}"\n[segment.plca]\n'
        f"to-tmr = {chance.choice([24, 32, 32, 40])}\nburst-cnt = {bursts}\n{phy}"
    )
    common = chance.choice(LENGTHS)
    ids = iter(chance.sample(range(1, 2 * count), 2 * count - 1))
    for number in range(count):
        own = [0] if number == 0 else [next(ids)]
        own += [next(ids)] if chance.random() < 0.1 and number < count - 1 else []
        frames = common if chance.random() < 0.7 else chance.choice(LENGTHS)
        load = chance.choice([0.05, 0.3, 0.6, 0.9, 1.2]) / count
        arrivals = chance.choice(
            [
                '"saturated"',
                f"{{ poisson_load = {load:g} }}",
                f"{{ poisson_load = {load:g} }}",
                f'{{ regular = "{chance.randint(200_000, 20_000_000)} ns" }}',
                '{ on_off = { period = "100 us", on = "2 ms", off = "5 ms" } }',
            ]
        )
        queue = "" if "saturated" in arrivals else f"queue = {chance.choice([1, 2, 20])}\n"
        text += (
            f'[[stations]]\nname = "n{number}"\ncount = 1\nframes = "{frames}"\n'
            f"arrivals = {arrivals}\nplca = {{ node-id = {own} }}\n{queue}"
        )
    return text
