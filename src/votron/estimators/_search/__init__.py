"""The search for parameters: cross-validation on more and more rows, with grids that go on at their edges.

Problem: which classifier, with which parameters, predicts rows best that it has not seen. Method: each setting is
fitted once a fold, and what comes free with a fit (of the voted perceptron every rule at every moment) is scored from
that one. Settings are tried on a share of the training rows first, and the best third of them on three times as many,
until all rows are used (successive halving). Where the best value of a list is its least or its largest, and the list
may go on, the next value is tried too. Every fold that was tried can be kept in a file, from which a search that was
ended goes on.

`grids` has the numbers, `settings` what is made of them, `folds` the data, `trials` one setting, `choosing` what is
best, `searching` the way from one to the other, `kept` the file. Its faces are `VotedPerceptronClassifierCV`,
`votron.tuning.tune`, and at the command line ``votron tune`` and ``votron train --tune``.
"""
