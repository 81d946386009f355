"""`python -m ethermeter`, the same as the command `ethermeter`."""

from ethermeter.cli import main

if __name__ == "__main__":
    main()
