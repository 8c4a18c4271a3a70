"""left out: is no Python."""

BODY = """
def f(:
"""
exec(BODY)
