"""Model files: what they are made of, and how they are read without trust.

`votron.save` and `votron.load` are the doors; here is what stands behind them: the file itself (`container`,
`strict_json`), what is in it (`fields`), how kernels, records and encoders are written down (`values`, `encoders`),
which step can follow which (`flow`), and what a file says of its model (`manifest`).
"""

from votron.saving.manifest import Manifest, read_manifest

__all__ = ["Manifest", "read_manifest"]
