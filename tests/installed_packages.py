"""Packages that bring something of their own to Votron by entry points, as they are once installed."""

import subprocess
import sys


def run_beside(folder, source, group, entry, *commands):
    """Run commands of Votron, each with its exit status, in a process that finds a package ``brought``.

    ``source`` is its code, ``entry`` what it names as an entry point of the group, such as ``"start = brought:start"``.
    """
    (folder / "brought.py").write_text(source)
    info = folder / "brought-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")
    runs = "".join(f"assert main({arguments!r}) == {status}\n" for arguments, status in commands)
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\nfrom votron.cli import main\n{runs}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done
