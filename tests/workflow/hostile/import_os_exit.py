"""left out by ./bench: ends the process that imports it, without an exception."""

import os

os._exit(0)
