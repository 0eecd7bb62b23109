"""Model files, which are read without trust."""

from votron.saving.models import Manifest, read_manifest

__all__ = ["Manifest", "read_manifest"]
