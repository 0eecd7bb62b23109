"""Names of reading that have moved: the old ones work on, and say where the new ones are."""

import importlib

import pytest

MOVED = [
    ("votron.data.batches", "ExampleBatches", "votron.data.reading", "ExampleBatches"),
    ("votron.data.batches", "Batches", "votron.data.reading", "ExampleBatches"),
    ("votron.data.batches", "open_batches", "votron.data.reading", "open_batches"),
    ("votron.data.idx", "read_idx", "votron.data.formats.idx", "read_idx"),
    ("votron.data.idx", "load_mnist_folder", "votron.data.formats.idx", "load_mnist_folder"),
    ("votron.data.idx", "load_digits_folder", "votron.data.formats.idx", "load_mnist_folder"),
    ("votron.data.image_sets", "ImageSet", "votron.data.formats.image_sets", "ImageSet"),
    ("votron.data.image_sets", "load_image_set", "votron.data.formats.image_sets", "load_image_set"),
    ("votron.data.tables", "tabular_encoder", "votron.data.encoding", "tabular_encoder"),
    ("votron.data.tables", "SCALERS", "votron.data.encoding", "SCALERS"),
    ("votron.data.vocabulary", "stands_between", "votron.data.options", "stands_between"),
]


@pytest.mark.parametrize(("old", "name", "new", "new_name"), MOVED)
def test_former_names_work_and_say_where_they_are(old, name, new, new_name):
    with pytest.warns(DeprecationWarning, match=rf"^{name} has moved from {old} to {new}.*\.$"):
        found = getattr(importlib.import_module(old), name)
    assert found is getattr(importlib.import_module(new), new_name)
    with pytest.raises(AttributeError, match=f"module '{old}' has no attribute 'nothing'"):
        importlib.import_module(old).nothing  # noqa: B018
