"""left out: raises what no `except Exception` catches."""

raise BaseException("no method")
