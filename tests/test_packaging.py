"""The package, its recipe, its workflows and its version agree with one another."""

import pathlib
import re
import subprocess
import tomllib

import pytest
import yaml

import dpjax

ROOT = pathlib.Path(__file__).parents[1]
BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = BUILD["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
README = (ROOT / "README.md").read_text("utf-8")
RECIPE = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text("utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEXTS = [
    *ROOT.glob("*.md"),
    ROOT / "CITATION.cff",
    ROOT / "pyproject.toml",
    *(
        path
        for folder in ("docs", "notebooks", "recipe", ".github", "dpjax")
        for suffix in ("md", "ipynb", "yaml", "yml", "py")
        for path in (ROOT / folder).rglob(f"*.{suffix}")
    ),
]
OURS = re.compile(r"github(?:\.com|usercontent\.com)?/[\w.-]+/dpjax(?![\w-])")

hosted = pytest.mark.skipif(not WORKFLOWS, reason="workflows are no part of the sdist")


def conda(requirements):
    """Requirements as conda writes them."""
    return sorted(re.sub("(?=[<>=])", " ", x, count=1) for x in requirements)


def commands(name):
    """What a workflow runs."""
    text = (ROOT / ".github" / "workflows" / name).read_text("utf-8")
    jobs = yaml.safe_load(text)["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def test_the_version_is_everywhere_the_same():
    version = re.escape(dpjax.__version__)
    assert RECIPE["context"]["version"] == dpjax.__version__
    for name, line in (
        ("CITATION.cff", rf"^version: {version}$"),
        ("CHANGELOG.md", rf"^## {version} "),
    ):
        assert re.search(line, (ROOT / name).read_text("utf-8"), re.MULTILINE), name


def test_the_recipe_asks_for_what_the_package_asks_for():
    requirements = RECIPE["requirements"]
    python, *run = requirements["run"]
    assert python == "python >=${{ python_min }}"
    assert f">={RECIPE['context']['python_min']}" == PROJECT["requires-python"]
    assert sorted(run) == conda(PROJECT["dependencies"])
    assert sorted(requirements["host"][2:]) == conda(BUILD["build-system"]["requires"])


def test_the_recipe_says_what_the_package_says():
    scripts = [f"{name} = {call}" for name, call in PROJECT["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == scripts
    about = RECIPE["about"]
    assert about["summary"] == PROJECT["description"]
    assert about["license"] == PROJECT["license"]
    assert about["repository"] == about["homepage"] == REPOSITORY


def test_the_repository_has_one_address():
    host, _, ours = REPOSITORY.partition("github.com/")
    assert host == "https://"
    found = {
        (match[0].partition("/")[2], path.relative_to(ROOT).as_posix())
        for path in TEXTS
        for match in OURS.finditer(path.read_text("utf-8"))
    }
    assert {address for address, _ in found} == {ours}, found
    places = {"CITATION.cff", "pyproject.toml", "recipe/recipe.yaml"}
    assert places < {path for _, path in found}


def test_links_of_the_readme_are_whole_where_its_files_are_not():
    hook = BUILD["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text, version = README, f"v{dpjax.__version__}"
    for rule in hook["substitutions"]:
        made = rule["replacement"].replace("v$HFPR_VERSION", version)
        text, count = re.subn(rule["pattern"], made, text)
        assert count
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) == len(re.findall(r"\]\([^)]+\)", README))
    for link in links:
        kind = "raw" if link.endswith(".png") else "blob"
        path = link.removeprefix(f"{REPOSITORY}/{kind}/{version}/").partition("#")[0]
        assert path != link, f"{link} is not in the repository"
        assert (ROOT / path).exists(), link
    assert 'pip install "dpjax[all]"' in text


@hosted
def test_hosted_checks_run_what_the_readme_prints():
    test = next(x for x in README.splitlines() if "python -m pytest" in x)
    found = commands("ci.yml")
    assert found[0] == "bash .ci/run"
    assert found[1] == f"{test} -m 'not thorough and not papers'"
    assert found[-1] == "python -m tests.browser"
    assert (ROOT / ".ci" / "run").exists()


@hosted
def test_every_python_that_is_named_is_tested():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
    tested = jobs["jobs"]["tests"]["strategy"]["matrix"]["python"]
    named = [x.rpartition(" ")[2] for x in PROJECT["classifiers"] if ":: 3." in x]
    assert named
    assert {*named} <= {*tested}
    assert tested[0] == named[0] == PROJECT["requires-python"].removeprefix(">=")


@hosted
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_have_few_rights_and_actions_that_cannot_change(path):
    text = path.read_text("utf-8")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    used = re.findall(r"uses: (.+)", text)
    assert used
    assert [x for x in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v.+", x)] == []


@hosted
def test_scripts_are_those_of_bash():
    for path in (".ci/run", ".ci/environments", ".ci/documentation"):
        subprocess.run(["bash", "-n", ROOT / path], check=True)
    for path in WORKFLOWS:
        for command in commands(path.name):
            subprocess.run(["bash", "-n", "-c", command], check=True)
