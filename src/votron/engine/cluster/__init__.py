"""Training on rows that are spread over several workers, with the record of one machine.

``rows`` is a Dask collection as training takes it, ``walk`` the one place where mistakes are made, ``shard`` the rows
of a worker, ``messages`` what these two say to each other, ``workers`` shards on a Dask cluster, which may get lost.
"""
