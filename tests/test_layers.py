"""Imports point down: a module uses only rooms on lower floors than its own."""

import ast
import functools
import graphlib
import pathlib

import pytest

FLOORS = [
    {
        "_types",
        "_checks",
        "_documents",
        "_later",
        "_platforms",
        "_private",
        "_products",
        "_registry",
        "_version",
    },
    {"runtime", "distributions", "noise", "privacy"},
    {"families", "tables"},
    {"data"},
    {"statistics"},
    {"mechanisms"},
    {"releases"},
    {"posteriors", "chains"},
    {"event_logs", "theory"},
    {"exports"},
    {"study"},
    {"audits", "plots", "sklearn"},
    {"cli"},
    {"__init__", "__main__"},
]
ROOT = pathlib.Path(__file__).parents[1] / "dpjax"
MODULES = sorted(ROOT.rglob("*.py"))


def name_of(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


@functools.cache
def nodes(path):
    """All of a file's syntax tree that these tests look at."""
    wanted = ast.Import | ast.ImportFrom | ast.FunctionDef
    return [x for x in ast.walk(ast.parse(path.read_text())) if isinstance(x, wanted)]


def imported(path):
    """Full names of the modules of the package that a file imports, in any form."""
    known = {name_of(p) for p in MODULES}
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the floor"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "dpjax":
                yield name if name in known else name.rpartition(".")[0]


def packages(path):
    """Names of the packages that a file imports from."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).split(".")[0]


def floor(module):
    room = module.split(".")[1] if "." in module else "__init__"
    return next(i for i, rooms in enumerate(FLOORS) if room in rooms)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path):
    here = name_of(path)
    for module in imported(path):
        same_room = module.split(".")[1:2] == here.split(".")[1:2]
        assert same_room or floor(module) < floor(here), f"{here} imports {module}"


@pytest.mark.slow
def test_there_are_no_cycles():
    graph = {name_of(path): set(imported(path)) - {name_of(path)} for path in MODULES}
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_is_imported_inside_a_function(path):
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef):
            inside = [
                x for x in ast.walk(node) if isinstance(x, ast.Import | ast.ImportFrom)
            ]
            assert not inside, f"{node.name} imports"


@pytest.mark.parametrize(
    ("package", "rooms"),
    [
        ("numpyro", {"_later", "distributions"}),
        ("optax", {"_later"}),
        ("scipy", {"_later", "plots"}),
        ("matplotlib", {"plots"}),
        ("dp_accounting", {"privacy"}),
        ("pyarrow", {"data"}),
        ("pandas", {"exports", "study"}),
        ("xarray", {"exports", "study"}),
        ("networkx", {"exports"}),
        ("sklearn", {"sklearn"}),
        ("statsmodels", {"data"}),
    ],
)
def test_each_package_has_one_room(package, rooms):
    users = {name_of(p).split(".")[1] for p in MODULES if package in packages(p)}
    assert users == rooms


NOUNS = {  # abstract classes, and what users hold: any room may ask for them
    *("Statistic", "TableStatistic", "FamilyStatistic", "BlockStatistic"),
    *("FamilyWithLaw", "ClippedFamily"),
    *("ExactMechanism", "ParameterMechanism", "Recipe"),
    *("MechanismWithLaw", "MechanismWithJointLaw"),
    *("Guarantee", "Released", "BayesNet", "MixedNet", "Categorical", "Interval"),
    *("MixedTotals", "NetworkPosterior", "Posterior"),
    *("InconsistentRelease", "UnreadableRelease", "Grouped", "Schema"),
}


def asked(path):
    """Classes of other rooms that a file gives to `isinstance` or `issubclass`."""
    here = name_of(path).split(".")[1:2]
    foreign = {
        alias.asname or alias.name
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith("dpjax")
        and str(node.module).split(".")[1:2] != here
        for alias in node.names
    }
    for node in ast.walk(ast.parse(path.read_text())):
        function = getattr(node, "func", None)
        if getattr(function, "id", "") in ("isinstance", "issubclass"):
            for part in ast.walk(node.args[1]):
                if isinstance(part, ast.Name) and part.id in foreign:
                    yield part.id
                if isinstance(part, ast.Attribute):
                    root = part.value
                    while isinstance(root, ast.Attribute):
                        root = root.value
                    if getattr(root, "id", "") in foreign:
                        yield part.attr


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_room_asks_for_an_implementation_of_another(path):
    assert set(asked(path)) <= NOUNS


@pytest.mark.slow
def test_the_ban_on_such_questions_is_not_empty(tmp_path, monkeypatch):
    found = {name for path in MODULES for name in asked(path)}
    assert found >= {"TableStatistic", "ParameterMechanism", "Released"}
    path = ROOT / "cli" / "predict.py"
    text = path.read_text().replace("ParameterMechanism", "DiscreteLaplace")
    monkeypatch.setattr(pathlib.Path, "read_text", lambda _: text)
    nodes.cache_clear()
    assert "DiscreteLaplace" in set(asked(path))
    monkeypatch.undo()
    nodes.cache_clear()


def body_of(function):
    """The number of lines of a function's body, its docstring apart."""
    first, *rest = function.body
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        function_body = rest
    else:
        function_body = [first, *rest]
    if not function_body:
        return 0
    return function_body[-1].end_lineno - function_body[0].lineno + 1


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_files_and_functions_are_short(path):
    assert len(path.read_text().splitlines()) <= 300
    long = {
        node.name: body_of(node)
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef) and body_of(node) > 40
    }
    assert long == {}


def test_the_package_is_small_and_its_folders_are_few():
    names = {path.name for path in ROOT.iterdir() if not path.name.startswith("_")}
    assert len(names - {"py.typed"}) <= 20
