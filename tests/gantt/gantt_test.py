#!/usr/bin/env python3
"""scripts/gantt draws what a program wrote under WEFT_TRACE: gantt_test.py SCRIPT PROGRAM [ARGUMENT...]"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT, PROGRAM, MACHINE = None, None, None


def gantt(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False)


class Gantt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.trace = Path(cls.folder.name) / "run.weft"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WEFT_")}
        cls.real = Path(cls.folder.name) / "real.weft"
        modelled = {"WEFT_ENGINE": "model", "WEFT_MACHINE": MACHINE, "WEFT_TRACE": str(cls.trace)}
        for of_run in (modelled, {"WEFT_WORKERS": "2", "WEFT_TRACE": str(cls.real)}):
            subprocess.run(PROGRAM, env=environment | of_run, check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def file(self, name):
        return Path(self.folder.name) / name

    def test_svg_is_the_same_each_time(self):
        for name in ("a.svg", "b.svg"):
            done = gantt(self.trace, "-o", self.file(name))
            self.assertEqual(done.returncode, 0, done.stderr)
        text = self.file("a.svg").read_text(encoding="utf-8")
        self.assertIn("<svg", text)
        self.assertEqual(text, self.file("b.svg").read_text(encoding="utf-8"))

    def test_png_of_a_part(self):
        done = gantt(self.trace, "-o", self.file("a.png"), "--from-us", 1, "--to-us", 20)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.file("a.png").read_bytes()[:4], b"\x89PNG")

    def test_what_real_threads_did(self):
        done = gantt(self.real, "-o", self.file("real.svg"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("<svg", self.file("real.svg").read_text(encoding="utf-8"))

    def test_damaged_and_cut_off_traces(self):
        whole = self.trace.read_bytes()
        cut, damaged, future = self.file("cut.weft"), self.file("damaged.weft"), self.file("future.weft")
        cut.write_bytes(whole[:-40])
        damaged.write_bytes(whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:])
        future.write_bytes(whole[:8] + b"\x02" + whole[9:])
        self.assertEqual(gantt(cut, "-o", self.file("a.svg")).returncode, 0)
        for file, says in ((damaged, "damaged"), (future, "version is 2")):
            done = gantt(file, "-o", self.file("a.svg"))
            self.assertEqual(done.returncode, 1)
            self.assertIn(says, done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_mistakes_are_named(self):
        broken = self.file("broken.json")
        broken.write_text("[1, 2")
        for arguments, status, says in [
            ((self.trace, "-o", self.file("a.pdf")), 2, "*.svg, *.png"),
            ((self.trace, "-o", self.file("a.svg"), "--from-us", 5, "--to-us", 5), 2, "--from-us below --to-us"),
            ((self.file("none.json"), "-o", self.file("a.svg")), 1, "none.json"),
            ((broken, "-o", self.file("a.svg")), 1, "cannot be read as a trace"),
        ]:
            done = gantt(*arguments)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    SCRIPT, MACHINE, PROGRAM = sys.argv[1], sys.argv[2], sys.argv[3:]
    unittest.main(argv=sys.argv[:1])
