"""Look at the pages that dpjax writes in Chromium: `python -m tests.browser`.

The pages are the report of the demo's release, the report of an event log, and the
quality page of synthetic records. Each is opened as on a phone and on a desk, and is
printed. It must ask for nothing from a network, fit the width, be reached by keyboard
where it scrolls, and pass the accessibility checks of axe. Exits with 1 if one fails.

`python -m pip install ".[all,browser]"` installs what this needs, but not the browser:
`python -m playwright install chromium`, or `--chromium PATH`.
"""

import argparse
import contextlib
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright

import dpjax as dp
from dpjax.cli.main import main as command

WIDTHS = {"phone": 400, "desk": 1300}  # pixels
_PAPER = 794  # pixels of the width of A4 at 96 in an inch
_TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"
_UNREACHED = """[...document.querySelectorAll("*")].filter(x =>
    x.scrollWidth > x.clientWidth && /auto|scroll/.test(getComputedStyle(x).overflowX)
    && x.tabIndex < 0).map(x => x.tagName)"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.browser")
    parser.add_argument("--chromium", help="the browser; that of Playwright by default")
    parser.add_argument("--keep", help="folder for pictures and printed pages")
    options = parser.parse_args()
    failed = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=options.chromium) as browser,
    ):
        keep = pathlib.Path(options.keep or folder)
        keep.mkdir(parents=True, exist_ok=True)
        for page in pages():
            troubles = list(looked_at(browser, page.resolve(), keep))
            failed += len(troubles)
            print(f"{page}: {'; '.join(troubles) or 'passed'}", flush=True)
    return int(failed > 0)


def pages() -> list[pathlib.Path]:
    """Write all pages into the current folder."""
    demo = "dpjax-demo/release.json"
    event_log().save("log.json")
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        for words in (
            "demo",
            f"report {demo} --out demo.html",
            "report log.json --out log.html",
            f"synthesize {demo} --n 1000 --out rows.csv --quality quality.html",
        ):
            if status := command(words.split()):
                raise SystemExit(status)
    return [pathlib.Path(x) for x in ("demo.html", "log.html", "quality.html")]


def event_log() -> dp.Released:
    levels = {"place": list("nsew"), "month": list(range(36)), "kind": ["a", "b", "c"]}
    net = dp.event_logs.event_network(dp.Schema(levels), "place", "month")
    rows = {name: [x[i % len(x)] for i in range(500)] for name, x in levels.items()}
    about = {"title": "Events", "record": "an event", "steward": "A & B"}
    return dp.release(net, rows, epsilon=1, adjacency="add-remove", about=about)


def looked_at(
    browser: Browser, path: pathlib.Path, keep: pathlib.Path
) -> Iterator[str]:
    """What is wrong with a page; pictures and a printed page are written to `keep`."""
    for name, width in WIDTHS.items():
        asked, said = [], []
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on("request", lambda x, asked=asked: asked.append(x.url))
        page.on("console", lambda x, said=said: said.append(x.text))
        page.on("pageerror", lambda x, said=said: said.append(str(x)))
        page.goto(path.as_uri())
        page.screenshot(path=keep / f"{path.stem}-{name}.png", full_page=True)
        yield from (f"{name}: asks for {x}" for x in asked if x != path.as_uri())
        yield from (f"{name}: {x}" for x in said)
        if (pixels := page.evaluate(_TOO_WIDE)) > 0:
            yield f"{name}: {pixels} pixels too wide"
        for tag in page.evaluate(_UNREACHED):
            yield f"{name}: no key reaches the {tag.lower()} that scrolls"
        for fault in Axe().run(page).response["violations"]:
            nodes = len(fault["nodes"])
            yield f"{name}: {fault['help']} ({fault['impact']}, {nodes} times)"
        page.close()
    page = browser.new_page(viewport={"width": _PAPER, "height": 1123})
    page.emulate_media(media="print")
    page.goto(path.as_uri())
    if (pixels := page.evaluate(_TOO_WIDE)) > 0:
        yield f"paper: {pixels} pixels too wide"
    page.pdf(path=keep / f"{path.stem}.pdf", format="A4")
    page.close()


if __name__ == "__main__":
    sys.exit(main())
