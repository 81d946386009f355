"""What all tests rely on."""

import signal

# Started in the background of a shell without job control, a process ignores Ctrl-C, and its children inherit that.
# The tests that press it would wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)
