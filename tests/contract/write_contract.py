"""Write the frozen records and scores anew: ``python tests/contract/write_contract.py``."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import frozen_results  # noqa: E402


def main():
    for name, cases in (("records", frozen_results.records()), ("scores", frozen_results.scores())):
        lines = ",\n".join(f"{json.dumps(case)}: {json.dumps(found)}" for case, found in cases)
        (HERE / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
