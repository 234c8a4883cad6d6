"""Tables need no networks: they are built without importing PyTorch."""

import subprocess
import sys


def test_tables_and_selection_do_not_import_torch():
    code = (
        "import sys, searchless_rl.reports.stage, searchless_rl.results.selection, "
        "searchless_rl.results.glossary; assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
