"""Reads what it is told on standard input, and says what came of each and what it took; see `memory_meter`."""

import gc
import json
import sys
import tempfile
import time
from pathlib import Path

from votron.data import _sources, open_batches, read_examples
from votron.errors import VotronError


def peak():
    with open("/proc/self/status") as file:
        return 1024 * int(next(line for line in file if line.startswith("VmHWM")).split()[1])


def warm_up():
    """Load what reading loads, and let polars start its threads."""
    with tempfile.TemporaryDirectory() as folder:
        table, vectors = Path(folder, "a.csv"), Path(folder, "a.svm")
        table.write_text("a,b,y\n1,x,0\n2,z,1\n")
        vectors.write_text("1 1:1\n")
        frame = read_examples(table, label="y").X
        read_examples(vectors)
        frame.write_parquet(Path(folder, "a.parquet"))
        frame.write_ipc(Path(folder, "a.arrow"), compression="zstd")
        for name in ("a.parquet", "a.arrow"):
            read_examples(Path(folder, name), labels="none")
            list(open_batches(Path(folder, name), labels="none"))


def run(call, path, how):
    try:
        if call == "read":
            return str(read_examples(path, **how).X.shape)
        return str(sum(len(batch) for batch in open_batches(path, **how)))
    except VotronError as error:
        return str(error)


def main():
    given = json.load(sys.stdin)
    warm_up()
    if given["free"] is not None:
        _sources.available_memory = lambda: given["free"]
    for call, path, how in given["cases"]:
        gc.collect()
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before, begun = peak(), time.perf_counter()
        said = run(call, path, how)
        print(json.dumps({"said": said, "grown": peak() - before, "seconds": time.perf_counter() - begun}), flush=True)


if __name__ == "__main__":
    main()
