"""Print the dependencies of pyproject.toml, one a line, for a plain pip (standard library only)."""

import sys
import tomllib

with open(sys.argv[1], "rb") as f:
    sys.stdout.write("\n".join(tomllib.load(f)["project"]["dependencies"]) + "\n")
