"""Small experiment files, sound but for what a test adds."""

HEAD = 'title = "t"\n'
SEGMENT = '[segment]\nstandard = "ieee-10"\nlength = "100 m"\n'
STATIONS = '[[stations]]\nname = "host"\ncount = 2\nframes = "64 B"\narrivals = "saturated"\n'
VALID = HEAD + SEGMENT + STATIONS

SMALL = """
title = "Two stations"
[segment]
standard = "ieee-10"
length = "100 m"
[[stations]]
name = "host"
count = 2
frames = "64 B"
arrivals = "saturated"
"""


def segment(text: str) -> str:
    """A file whose segment says this instead of a length."""
    return HEAD + '[segment]\nstandard = "ieee-10"\n' + text + "\n" + STATIONS


def group(text: str, *, segment_text: str = SEGMENT) -> str:
    """A file with one group of two stations that says this as well."""
    return HEAD + segment_text + '[[stations]]\nname = "host"\ncount = 2\n' + text + "\n"


def host(text: str, *, segment_text: str = SEGMENT) -> str:
    """The same with frames and arrivals."""
    return group('frames = "64 B"\narrivals = "saturated"\n' + text, segment_text=segment_text)


def traffic(text: str) -> str:
    """A group with frames that arrives as this says."""
    return group('frames = "64 B"\n' + text)


CLUSTERS = '[segment]\nstandard = "ieee-10"\nround_trip = "12 us"\nclusters = 2\n'
