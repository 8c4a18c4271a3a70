"""Methods taught a further kind of model: ``methods/kinds/<kind of model>/<method>.py``.

A method's own file (``methods/<method>.py``) is what its paper describes. Where the suite runs it on a model that the
file does not know, a file of the same name under ``methods/kinds/<kind>/`` holds one more subclass of
``methods.contract.Method`` with that ``name`` and ``models = ("<kind>",)``: its own settings, leaks and relation. Cells
of other kinds do not depend on it, so that teaching a method a new model makes no committed score stale.
``methods.contract`` finds and lists them.
"""
