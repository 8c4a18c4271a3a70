"""Advice for a table of a given size (``./bench advise``) and for a public table of a user (``./bench compare``).

Both write an experiment of one data set below ``results/`` and run it by the rules of the workflow. So cells, resuming,
budgets and scores are those of the suite. The result is the block of ``common_tasks.advice``, as a page.
"""
