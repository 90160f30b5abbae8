"""What pyproject.toml cannot say: a wheel gets the query editor of the web page, where npm is there to fetch it."""

import os
import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

BUNDLE = Path(__file__).with_name("worlds") / "server" / "bundle.py"


class BuildWithEditor(build_py):
    """Builds the package; WORLDS_WITHOUT_NODE=1 leaves the editor out, as does whatever goes wrong with npm."""

    def run(self) -> None:
        """Fetch the editor, unless this is an editable installation, and build."""
        if not self.editable_mode and not os.environ.get("WORLDS_WITHOUT_NODE"):
            module = runpy.run_path(str(BUNDLE))
            try:
                module["bundle"]()
            except module["BundleError"] as error:
                self.warn(f"the web page gets the plain query editor: {error}")
        super().run()


setup(cmdclass={"build_py": BuildWithEditor})
