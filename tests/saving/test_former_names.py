"""Names of model files that have moved: the old ones work on, and say where the new ones are."""

import importlib

import pytest

MOVED = [
    ("votron.estimators.saved", "load", "votron.saving.models", "load"),
    ("votron.estimators.saved", "save", "votron.saving.models", "save"),
    ("votron.saving.encoders", "encoder_state", "votron.saving.steps", "step_state"),
    ("votron.saving.encoders", "encoder_from", "votron.saving.steps", "step_from"),
    *(("votron.saving.flow", name, "votron.saving.steps", name) for name in ("ANY_DATA", "Flow", "check_fits")),
    ("votron.saving.flow", "after", "votron.saving.steps", "after"),
    *(("votron.saving.manifest", name, "votron.saving", name) for name in ("Manifest", "read_manifest")),
    *(
        ("votron.saving.sections", name, "votron.saving.models", name)
        for name in ("SECTIONS", "manifest_with", "sections_of")
    ),
    *(("votron.saving.strict_json", name, "votron.saving.fields", name) for name in ("Size", "measured", "parsed")),
]


@pytest.mark.parametrize(("old", "name", "new", "new_name"), MOVED)
def test_former_names_work_and_say_where_they_are(old, name, new, new_name):
    with pytest.warns(DeprecationWarning, match=rf"^{name} has moved from {old} to {new}.*\.$"):
        found = getattr(importlib.import_module(old), name)
    assert found is getattr(importlib.import_module(new), new_name)
    with pytest.raises(AttributeError, match=f"module '{old}' has no attribute 'nothing'"):
        importlib.import_module(old).nothing  # noqa: B018
