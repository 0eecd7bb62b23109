"""Model files: what they are made of, and how they are read without trust.

`votron.save` and `votron.load` are the doors. From the model to the bytes of a file, and back:

- `models`: `save` and `load`.
- `classifiers`, `steps`: how each class is stored, one object a class; `flow`: which step can follow which.
- `values`: how labels, kernels, records and parameters are stored, which all classes share.
- `fields`: values of JSON and arrays, put aside when they are written and checked one by one when they are read.
- `sections`: the parts of a manifest, by name; `format1`: manifests of the first format, as such sections.
- `manifest`: what a file says of its model, without the model.
- `container`: the file itself; `strict_json`: JSON from strangers.

Everything that opens a file refuses what it does not know, and nothing in a file is run or imported.
"""

from votron.saving.manifest import Manifest, read_manifest

__all__ = ["Manifest", "read_manifest"]
