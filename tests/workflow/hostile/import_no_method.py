"""left out: holds no method."""

VALUE = 1
