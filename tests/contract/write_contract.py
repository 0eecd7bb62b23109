"""Writes the contract anew: ``python tests/contract/write_contract.py``. README.md beside it says when to do so."""

import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import frozen_results  # noqa: E402
import frozen_words  # noqa: E402


def main():
    for name, cases in (("records", frozen_results.records()), ("scores", frozen_results.scores())):
        lines = ",\n".join(f"{json.dumps(case)}: {json.dumps(found)}" for case, found in cases)
        (HERE / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    (HERE / "names.txt").write_text("".join(f"{line}\n" for line in frozen_words.names()), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, frozen_words.inside(Path(folder)):
        errors = "".join(f"{what}\n    {sentence}\n" for what, sentence in frozen_words.errors(Path(folder)))
    (HERE / "errors.txt").write_text(errors, encoding="utf-8")


if __name__ == "__main__":
    main()
