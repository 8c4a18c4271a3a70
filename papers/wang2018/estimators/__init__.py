"""Private least squares on normalised rows, |x| <= 1 and |y| <= 1, without an intercept (Wang 2018 and its baselines).

Every estimator is a function of the moments of the training rows (:mod:`.moments`) and of a noise source
(``privacy.repeats``). So one fit and a hundred repetitions run the same code. Neighbouring data sets differ by one row
that is added or removed. The number of rows is public.

Each estimator has up to three readings:

* ``authors``: the arithmetic of the authors' code.
* ``printed``: the method as public texts state it. A method whose text was not available has no such reading.
* ``corrected``: as ``printed``, with a guarantee that is proved here.
"""
