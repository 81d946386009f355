"""Print a generated page of the reference."""

import sys

from . import PAGES

if __name__ == "__main__":
    names = {path.removeprefix("reference/").removesuffix(".md"): path for path in PAGES}
    if len(sys.argv) != 2 or sys.argv[1] not in names:
        sys.exit(f"expected one of {', '.join(names)}")
    sys.stdout.write(PAGES[names[sys.argv[1]]]())
