"""A DVC that records its calls, says that everything changed, and behaves as files in its folder ask.

`fake_dvc(folder)` writes it as the package `dvc` into FOLDER/fake; put that first on PYTHONPATH.
"""

from pathlib import Path

PROGRAM = """
import os, sys, time
from pathlib import Path
call = " ".join(sys.argv[1:])
with open("calls", "a") as calls:
    calls.write(call + "\\n")
if call == "status --json":
    print(Path("status.json").read_text())
elif call == "repro -s train@entropy-fixed-1-s0" and Path("fail").exists():
    print("broken")
    sys.exit(3)
elif call == "repro -s train@none-fixed-0-s0":
    if Path("busy").exists():
        text = Path("busy").read_text()
        Path("busy").unlink()
        print(text)
        sys.exit(255)
    if Path("slow").exists():
        Path("pid").write_text(str(os.getpid()))
        os.execvp("sleep", ["sleep", "600"])
elif call.startswith("repro fetch") and Path("slow ancestors").exists():
    Path("pid").write_text(str(os.getpid()))
    os.execvp("sleep", ["sleep", "600"])
"""


def write_fake_dvc(folder: Path) -> Path:
    """Write the package; the folder to put on PYTHONPATH."""
    package = folder / "fake" / "dvc"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(PROGRAM)
    return package.parent
