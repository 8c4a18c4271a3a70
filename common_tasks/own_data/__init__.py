"""Advice for a size of one's own (``./bench advise``) and for a public table of one's own (``./bench compare``).

Both write an experiment of one data set below ``results/`` and run it by the rules of the workflow, as any other: the
cells, their resume, the budgets and the scores are those of the suite. What comes out is the block of
``common_tasks.advice``, as a page.
"""
