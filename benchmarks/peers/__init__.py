"""Other people's software on the same task: data, queries, guarantee, clock and processor limit alike.

    python -m benchmarks.peers.venvs [NAME ...]              an environment for each peer
    python -m benchmarks.peers.run [--data DIR] [WORD ...]   measure what is missing, into results.parquet
    python -m benchmarks.peers.page                          docs/benchmarks.md, from results.parquet

`peers` says who there is, `workloads` what is asked, `protocol` how a run is handed to the process that
does it and what comes back. A new peer is one file in `adapters` and one line in `peers`; a new workload
is one function in `workloads`.
"""
