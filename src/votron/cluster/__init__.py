"""Training on rows that are spread over several workers, with the record of one machine.

``rows`` is a Dask collection as training takes it, ``chunks`` what is computed of its parts, ``walk`` the run through
the intervals, ``pool`` the candidates of one and the one place where mistakes are made, ``shard`` the rows of a worker,
``messages`` what shards and walk say to each other, ``workers`` the shards of a Dask cluster, ``actor`` one of them,
``client`` what the cluster must be like, ``local`` a cluster on this machine, ``presenting`` the averaged perceptron.
"""
