"""What journeys share. A journey is what one person does, by the commands of the documentation.

- size an uplink for calls and cameras: `test_commands.py`
- measure two hosts: `tests/live/test_two_hosts.py`, with the other tests that need root
- explain a slow copy: `test_commands.py`
- a lecture: `test_site.py` reads what `make docs` has executed
- from 500 points to a figure: `test_figure.py`
- a trace of one's own: its page runs in `unit`, `live/test_measured_traces.py` sees it on a wire
- every page: `unit/test_documented_commands.py` runs the commands, `test_site.py` opens the site
- install without Rust: `test_wheel.py`
"""
