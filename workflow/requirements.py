"""Print what runs the suite, of pyproject.toml, one package a line, for a plain pip (standard library only)."""

import sys
import tomllib

with open(sys.argv[1], "rb") as f:
    project = tomllib.load(f)["project"]
needed = [*project["dependencies"], *project["optional-dependencies"]["suite"]]
sys.stdout.write("\n".join(needed) + "\n")
