"""Draws docs/img/explain.png: the page of ``python -m fovea explain``, with the pointer on a
line of Python, whose ops are marked at every level.

Usage: explain_picture.py [OUTPUT]

Needs the package (PYTHONPATH, as for tests), numpy, ptxas and a headless Chromium
(Debian: chromium) on the PATH.
"""

import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tempfile

from fovea import explain

WIDTH = 1280
#: The line that the pointer is on, and the levels of the panes.
LINE, LEVELS = "slopes[h]", ("python", "tile", "ptx")
HIDDEN = ("why", "resources", "roofline")

#: The program, as a user's file.
PROGRAM = """import fovea


def alibi(score, b, h, q, k, slopes):
    return score + slopes[h] * (k - q)


def window_and_sinks(b, h, q, k):
    return (q >= k) & ((q - k < 1024) | (k < 4))


spec = fovea.attention(alibi, window_and_sinks, head_dim=128, captures={"slopes": ("f32", (None,))}, name="alibi")
"""

#: Runs after the page's own script: selects panes, expands the ops of the line, and
#: moves the pointer there.
SCRIPT = """
<style>
  body { max-width: none; padding-bottom: .2rem; } .ir { max-height: 17rem; } footer { display: none; }
  %(hidden)s { display: none; }
</style>
<script>
(async () => {
  const pause = () => new Promise((done) => setTimeout(done, 50));
  const panes = [...document.querySelectorAll("#ir .pane")];
  for (const [n, level] of %(levels)s.entries()) {
    panes[n].querySelector("select").value = level;
    await fillPane(panes[n]);
  }
  const lines = [...panes[0].querySelectorAll(".l")];
  const line = lines.find((one) => one.textContent.includes(%(line)s));
  const hover = () => {
    panes[0].querySelector(".ir").dispatchEvent(new MouseEvent("mouseleave"));
    line.dispatchEvent(new MouseEvent("mouseover", {bubbles: true}));
  };
  hover();
  for (const pane of panes)
    for (let folded; (folded = pane.querySelector(".l.within.shut")) && !pane.querySelector(".l.same"); ) {
      folded.click();
      hover();
    }
  for (const pane of panes) {
    const lines = pane.querySelector(".ir"), first = pane.querySelector(".l.same");
    if (first) lines.scrollTop = first.offsetTop - lines.offsetTop - 90;
  }
  await pause();
  document.title = "height " + Math.ceil(document.body.getBoundingClientRect().bottom);
})();
</script>
"""


def picture_page(folder):
    """The page, with the pointer on a line."""
    file = pathlib.Path(folder, "alibi.py")
    file.write_text(PROGRAM, encoding="utf-8")
    text = explain.page(runpy.run_path(str(file))["spec"], title="alibi.py:spec")
    hidden = ", ".join(f"#{name}" for name in HIDDEN)
    script = SCRIPT % {"hidden": hidden, "levels": str(list(LEVELS)), "line": repr(LINE)}
    return text.replace("</body>", script + "</body>")


def browse(browser, *arguments):
    """Standard output of a headless browser that lets the page's scripts end."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


def draw(output):
    """Writes the picture."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("explain_picture: needs Chromium on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "page.html")
        page.write_text(picture_page(folder), encoding="utf-8")
        found = re.search(r"<title>height (\d+)</title>", browse(browser, f"--window-size={WIDTH},1600", "--dump-dom", page.as_uri()))
        if found is None:
            sys.exit("explain_picture: the page's script did not end")
        browse(browser, f"--window-size={WIDTH},{int(found[1]) + 8}", f"--screenshot={output}", page.as_uri())


if __name__ == "__main__":
    draw(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1] / "docs" / "img" / "explain.png").resolve())
