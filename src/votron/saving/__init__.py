"""Model files: what they are made of, and how they are read without trust.

`votron.save` and `votron.load` are the doors. From the model to the bytes of a file, and back:

- `models`: `save`, `load`, `read_manifest`, and the sections of a manifest; `format1`: manifests of the first format.
- `classifiers`, `steps`: how each class is stored, one object a class; and which step can follow which.
- `values`: how labels, kernels, records, support vectors and parameters are stored, which all classes share.
- `fields`: JSON from strangers, and arrays beside it: put aside when written, checked one by one when read.
- `container`: the file itself.

Everything that opens a file refuses what it does not know, and nothing in a file is run or imported.
"""

from votron.saving.models import Manifest, read_manifest

__all__ = ["Manifest", "read_manifest"]
