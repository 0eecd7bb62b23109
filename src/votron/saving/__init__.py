"""Model files: what they are made of, and how they are read without trust.

- `models`: `save`, `load` and `read_manifest`;
- `classifiers`, `steps`, `parts`: how each thing is stored, one struct a thing;
- `tensors`, `container`: arrays by name, and the file itself.
"""

from votron.saving.models import Manifest, read_manifest

__all__ = ["Manifest", "read_manifest"]
