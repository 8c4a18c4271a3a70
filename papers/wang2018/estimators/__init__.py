"""Private least squares on normalised rows: |x| <= 1, |y| <= 1, no intercept (Wang 2018 and what it compares with).

Every estimator is a function of the moments of the training rows (:mod:`.moments`) and of a noise source
(``privacy.repeats``), so that one fit and a hundred repetitions of it are the same code. Relation: add or remove one
row; the number of rows is public.

Readings: ``authors`` is the arithmetic of the authors' code, ``printed`` what it is meant to be, as far as public
texts say so, ``corrected`` the same with a guarantee that is proved here. If a method has no ``printed``
reading, the text that would state it was not at hand.
"""
