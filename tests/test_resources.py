import joblib
import numpy as np
import pytest

from votron._util import resources
from votron._util.resources import available_memory, effective_threads, parse_memory_limit
from votron.errors import VotronError

GB = 10**9


@pytest.fixture
def system(tmp_path):
    """A root with /proc and /sys to write into; returns the writer."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    write({"proc/meminfo": "MemTotal:  16000000 kB\nMemFree: 1 kB\nMemAvailable:  8000000 kB\n"})
    return write


def linux_memory(root):
    return min(resources._linux_memory(root))


def test_without_control_groups_the_kernel_is_believed(system):
    assert linux_memory(system({})) == 8_000_000 * 1024


def test_a_limit_of_control_groups_v2_counts_at_every_level(system):
    root = system(
        {
            "proc/self/cgroup": "0::/user/job\n",
            "sys/fs/cgroup/user/job/memory.max": "max\n",
            "sys/fs/cgroup/user/job/memory.current": "100\n",
            "sys/fs/cgroup/user/memory.max": f"{3 * GB}\n",
            "sys/fs/cgroup/user/memory.current": f"{2 * GB}\n",
        }
    )
    assert linux_memory(root) == GB


def test_old_file_pages_are_not_counted_as_used(system):
    root = system(
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": f"{3 * GB}\n",
            "sys/fs/cgroup/memory.current": f"{2 * GB}\n",
            "sys/fs/cgroup/memory.stat": f"anon 5\ninactive_file {GB}\n",
        }
    )
    assert linux_memory(root) == 2 * GB


def test_a_group_over_its_limit_leaves_nothing(monkeypatch):
    monkeypatch.setattr(resources, "_linux_memory", lambda root: iter([GB, -5]))
    assert available_memory() == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (np.int64(7), 7),
        ("12345", 12345),
        ("2GB", 2 * GB),
        ("500 MB", 500_000_000),
        (" 3 kb ", 3000),
        ("1.5GiB", 3 * 2**29),
        ("2mib", 2**21),
        ("0.1GB", 100_000_000),
    ],
)
def test_memory_limits(value, expected):
    result = parse_memory_limit(value)
    assert result == expected
    assert type(result) is int


def test_auto_is_not_more_than_pays(monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 10**12)
    assert parse_memory_limit("auto") == 250 * 10**9
    assert parse_memory_limit("auto", data_bytes=10**9) == 16 * 10**9
    assert parse_memory_limit("auto", data_bytes=1000) == 1 << 30
    assert parse_memory_limit("3GB", data_bytes=1000) == 3 * 10**9


@pytest.mark.parametrize(
    "value",
    [-1, 1.5, None, True, b"2GB", "", "-2GB", "2 XB", "GB", "1e9", "inf", "1" * 5000],
)
def test_other_memory_limits_are_refused(value):
    with pytest.raises(VotronError, match="'memory_limit' parameter of SomeClassifier"):
        parse_memory_limit(value, owner="SomeClassifier")


@pytest.mark.parametrize(
    ("n_jobs", "openmp", "expected"),
    [
        (None, None, 8),
        (None, "3", 3),
        (None, "3,2", 3),
        (None, "64", 8),
        (None, "many", 8),
        (-1, "3", 8),
        (-2, None, 7),
        (-100, None, 1),
        (12, "3", 12),
    ],
)
def test_threads(monkeypatch, n_jobs, openmp, expected):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if openmp is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", openmp)
    result = effective_threads(n_jobs)
    assert result == expected
    assert type(result) is int


@pytest.mark.parametrize("n_jobs", [0, 1.0, "2", True])
def test_other_numbers_of_threads_are_refused(n_jobs):
    with pytest.raises(VotronError, match="'n_jobs' parameter of SomeClassifier"):
        effective_threads(n_jobs, owner="SomeClassifier")
